// Times of a GPU that no driver tells, measured on an H200 (docs/results/hardware.md). Policies and models begin with them.

export const h200 = {
  /** A change of contexts, from one that has no more work. */
  switchUs: 140,
  /** How long a busy context keeps the GPU from another one. */
  sliceUs: 2100,
} as const;
