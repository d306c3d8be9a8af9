// Indices are in range by construction. There is one function for each kind of array, because the engine makes slow
// code of a function that reads several kinds.

export const at = (numbers: Float64Array, index: number): number => numbers[index] as number;
export const who = (partners: Int32Array, index: number): number => partners[index] as number;
