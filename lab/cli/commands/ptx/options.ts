import { type Args, json, list, number, text } from "#cli";

/** 227 KiB, of sm_90: no GPU gives a block more. */
const MAX_SHARED = 227 * 1024;

export const options = {
  out: text("FILE", undefined, "slice, preempt: write the PTX here instead of to stdout"),
  kernel: text("NAME", undefined, "run: which kernel, where the file has several"),
  grid: text("X,Y,Z", "1", "run: blocks"),
  block: text("X,Y,Z", "32", "run: threads of a block"),
  shared: number("BYTES", 0, "run: dynamic shared memory of a block", {
    whole: true,
    max: MAX_SHARED,
  }),
  arg: list(
    "ARG",
    "run: an argument, in order: a number, or memory as TYPE[COUNT], zero or with =V or =iota: f32[64]=iota",
  ),
  seed: number("N", 0, "run: seed of the order in which warps take turns; 0: rising order", {
    whole: true,
  }),
  show: number("N", 8, "run: how many values of each memory to print", { min: 1, whole: true }),
  json,
};

export type PtxArgs = Args<typeof options>;
