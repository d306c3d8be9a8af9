// Indices are in range. Each kind of array has its function: the engine makes a common one slow.

export const at = (numbers: Float64Array, index: number): number => numbers[index] as number;
export const who = (partners: Int32Array, index: number): number => partners[index] as number;
