// No driver reports these times, measured on an H200 (docs/results/hardware.md).

export const h200 = {
  switchUs: 140, // the other context has no more work
  sliceUs: 2100, // a busy context keeps the GPU for this long
} as const;
