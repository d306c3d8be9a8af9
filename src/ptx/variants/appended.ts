// Offsets of the original's parameters stay the same. The launcher and the passes read this.

export interface Appended {
  readonly suffix: string;
  readonly params: readonly AppendedParam[];
  readonly bytes: number;
  /** It is the variable in shared memory that holds the block's number (block-number.ts). */
  readonly words: string;
  readonly wordsBytes: number;
}

export interface AppendedParam {
  readonly name: string;
  readonly type: "u32" | "u64";
  readonly meaning: string;
}

const grid: readonly AppendedParam[] = [
  { name: "cotenant_nctaid_x", type: "u32", meaning: "x size of the original grid" },
  { name: "cotenant_nctaid_y", type: "u32", meaning: "y size of the original grid" },
  { name: "cotenant_nctaid_z", type: "u32", meaning: "z size of the original grid" },
];

export const appended = {
  slice: {
    suffix: "__cotenant_slice",
    params: [
      { name: "cotenant_first_x", type: "u32", meaning: "x of the box's first block" },
      { name: "cotenant_first_y", type: "u32", meaning: "y of the box's first block" },
      { name: "cotenant_first_z", type: "u32", meaning: "z of the box's first block" },
      ...grid,
    ],
    bytes: 24,
    words: "cotenant_slice_block",
    wordsBytes: 32,
  },
  preempt: {
    suffix: "__cotenant_preempt",
    params: [
      {
        name: "cotenant_control",
        type: "u64",
        meaning:
          "device address of two u32 at a multiple of 8, zero before the first launch: blocks claimed so far, of launches by turns",
      },
      {
        name: "cotenant_flag",
        type: "u64",
        meaning:
          "address of a u32 of the host, nonzero to stop; 0 for never, and for no launch after this one",
      },
      ...grid,
      {
        name: "cotenant_epoch",
        type: "u32",
        meaning: "1 in the first launch on a control, one more in each that resumes",
      },
    ],
    bytes: 32,
    words: "cotenant_preempt_block",
    wordsBytes: 64,
  },
  unified: { suffix: "__cotenant_unified", params: [], bytes: 0, words: "", wordsBytes: 0 },
} as const satisfies Record<string, Appended>;

export const isVariant = (name: string) =>
  Object.values(appended).some(({ suffix }) => name.endsWith(suffix));
