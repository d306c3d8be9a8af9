// Round trips and variants through ptxas: the machine code must be the same bytes, every variant must assemble,
// and what it costs in registers and occupancy stands in ptxas's own report.
import { occupancy } from "#profile";
import { appended, legality, parse, preempt, print, printPlain, slice, unifySync } from "#ptx";
import { assemble, corpora, type PtxFile, sameCode } from "../../test/ptx/ptxas.ts";

/** Threads of a block where the kernel does not say. */
const BLOCK = 256;

export function assembleAll() {
  const results = corpora().map(tryOne);
  const names = [...new Set(results.map(({ corpus }) => corpus))];
  const number = (corpus: string, holds: (one: Result) => boolean) =>
    results.filter((one) => one.corpus === corpus && holds(one)).length;
  return {
    corpora: names.map((corpus) => ({
      corpus,
      files: number(corpus, () => true),
      "same bytes": number(corpus, ({ same }) => same),
      "same code in our layout": number(corpus, ({ plain }) => plain),
      "variants assemble": number(corpus, ({ variants }) => variants),
    })),
    costs: costs(results),
    failures: results.flatMap(({ failures }) => failures),
  };
}

interface Result {
  readonly corpus: string;
  readonly same: boolean;
  /** Printed in our own layout, to the same instructions: names and debug sections count lines. */
  readonly plain: boolean;
  readonly variants: boolean;
  readonly failures: readonly string[];
  readonly kernels: readonly Cost[];
}

interface Cost {
  readonly variant: "slice" | "preempt";
  readonly registers: readonly [original: number, variant: number];
  /** Occupancy of the variant over the original's. */
  readonly occupancy: number;
}

function tryOne({ corpus, name, text }: PtxFile): Result {
  const module = parse(text);
  const original = assemble(text);
  const bytes = original.cubin ?? Buffer.of();
  const same =
    original.cubin !== undefined && assemble(print(module)).cubin?.equals(bytes) === true;
  const plain = sameCode(assemble(printPlain(module)).cubin, original.cubin);
  const made = assemble(print(unifySync(preempt(slice(module)))));
  const failures = [
    ...(same ? [] : [`${corpus}/${name}: the machine code is not the same`]),
    ...(plain === false
      ? [`${corpus}/${name}: in our layout the machine code is not the same`]
      : []),
    ...(made.cubin ? [] : [`${corpus}/${name}: variants do not assemble: ${made.said}`]),
  ];
  const usage = usageOf(made.said);
  const kernels = legality(module).flatMap((report) =>
    (["slice", "preempt"] as const).flatMap((variant) => {
      const before = usage.get(report.kernel);
      const after = usage.get(report.kernel + appended[variant].suffix);
      if (!report[variant].legal || before === undefined || after === undefined) return [];
      const block = blockOf(text, report.kernel);
      const warps = (one: Usage) =>
        occupancy(corpus.includes("80") ? "8.0" : "9.0", {
          block: [block, 1, 1],
          registers: one.registers,
          staticSharedBytes: one.shared,
        }).warps;
      const registers = [before.registers, after.registers] as const;
      return [{ variant, registers, occupancy: warps(after) / warps(before) }];
    }),
  );
  return { corpus, same, plain, variants: made.cubin !== undefined, failures, kernels };
}

interface Usage {
  readonly registers: number;
  readonly shared: number;
}

/** ptxas -v: what each entry uses. */
function usageOf(said: string): ReadonlyMap<string, Usage> {
  const found = new Map<string, Usage>();
  let kernel = "";
  for (const line of said.split("\n")) {
    kernel = /Compiling entry function '([^']+)'/.exec(line)?.[1] ?? kernel;
    const registers = /Used (\d+) registers/.exec(line)?.[1];
    if (registers === undefined) continue;
    const shared = Number(/(\d+) bytes smem/.exec(line)?.[1] ?? 0);
    found.set(kernel, { registers: Number(registers), shared });
  }
  return found;
}

/** `.reqntid` or `.maxntid` of the kernel. */
function blockOf(text: string, kernel: string): number {
  const from = text.indexOf(`.entry ${kernel}(`);
  const header = text.slice(from, text.indexOf("{", from));
  const sizes = /\.(?:req|max)ntid\s+([\d,\s]+)/.exec(header)?.[1] ?? `${BLOCK}`;
  return sizes.split(",").reduce((all, one) => all * Number(one), 1);
}

function costs(results: readonly Result[]) {
  const rows = [];
  for (const corpus of new Set(results.map((one) => one.corpus)))
    for (const variant of ["slice", "preempt"] as const) {
      const all = results
        .filter((one) => one.corpus === corpus)
        .flatMap(({ kernels }) => kernels)
        .filter((one) => one.variant === variant);
      if (all.length === 0) continue;
      const more = all.map(({ registers: [a, b] }) => b - a).sort((a, b) => a - b);
      const share = all.map((one) => one.occupancy).sort((a, b) => a - b);
      rows.push({
        corpus,
        variant,
        kernels: all.length,
        "registers added, median": more[more.length >> 1] ?? 0,
        "at most": more.at(-1) ?? 0,
        "occupancy kept, median": (share[share.length >> 1] ?? 0).toFixed(2),
        "at least": (share[0] ?? 0).toFixed(2),
        "below half": share.filter((one) => one < 0.5).length,
      });
    }
  return rows;
}
