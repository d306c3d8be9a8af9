// No driver reports these times, measured on an H200 (docs/results/hardware.md).

export const h200 = {
  switchUs: 140, // from a context without work
  sliceUs: 2100, // of a busy context
} as const;
