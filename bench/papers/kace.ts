// KACE (SoCC'24): its protocol on its own published rows.
import type { Spread } from "../predict/contestants.ts";
import { one, type PaperRow, read } from "./row.ts";

interface Pairs {
  readonly results: Readonly<
    Record<
      string,
      { readonly all: Spread; readonly heldOut: Spread; readonly trainingCpuMs?: number }
    >
  >;
  readonly wins: {
    readonly won: Readonly<Record<string, number>>;
    readonly targets: readonly unknown[];
  };
}
interface Unseen {
  readonly results: Readonly<Record<string, { readonly allOtherRows: Spread }>>;
}
interface LeftOut {
  readonly sets: Readonly<
    Record<
      string,
      {
        readonly modelLeftOut: Readonly<
          Record<string, Readonly<Record<string, { readonly ofOracle: Spread }>>>
        >;
      }
    >
  >;
}

const LINE = "line on busy shares";
const fixed = (value: number): string => value.toFixed(2);
const run = (part: string) => `npx tsx bench/predict/run.ts ${part}`;

export function kaceRows(): readonly PaperRow[] {
  const base = read<Pairs>("2026-11-21-predict-pairs");
  const all = {
    ...base.results,
    ...read<Pairs>("2026-11-24-predict-pairs-mixed").results,
    ...read<Pairs>("2026-11-30-predict-pairs-line").results,
  };
  const pair = (name: string): number => all[name]?.all.mean ?? Number.NaN;
  const unseen = {
    ...read<Unseen>("2026-11-21-predict-unseen").results,
    ...read<Unseen>("2026-11-24-predict-unseen-mixed").results,
    ...read<Unseen>("2026-11-30-predict-unseen-line").results,
  };
  const targetUnseen = (name: string): number => unseen[name]?.allOtherRows.mean ?? Number.NaN;
  const [set] = Object.values(read<LeftOut>("2026-11-30-predict-left-out-kace").sets);
  const several = (name: string) =>
    [3, 4]
      .map((size) => set?.modelLeftOut[`${size} clients`]?.[name]?.ofOracle.mean ?? Number.NaN)
      .map(fixed)
      .join(", ");
  const won = one(Object.entries(base.wins.won), ([name]) => name === "ours", "wins")[1];
  return [
    {
      figure: "of the oracle, learned from 20 % of the pairs: linear model",
      paper: "0.91",
      ours: `${fixed(pair("linear"))}; default ${fixed(pair("mixed"))}, line ${fixed(pair(LINE))}`,
      difference: "the same 181 rows; 50 random splits instead of one",
      command: run("pairs"),
    },
    {
      figure: "Xu et al., best of the rules, MEMCAP, random",
      paper: "0.81, 0.84, 0.77, 0.54",
      ours: ["forest, Xu et al.", "best of the rules", "memcap", "random"]
        .map((name) => fixed(pair(name)))
        .join(", "),
      difference: "the same",
      command: run("pairs"),
    },
    {
      figure: "best policy for how many of 21 targets",
      paper: "13 (linear)",
      ours: `${won} of ${base.wins.targets.length} (\`ours\`)`,
      difference: "means over the splits; ties count for each",
      command: run("pairs"),
    },
    {
      figure: "target unseen at any batch size",
      paper: "0.92",
      ours: `${fixed(targetUnseen("linear"))}; default ${fixed(targetUnseen("mixed"))}, line ${fixed(targetUnseen(LINE))}`,
      difference:
        "least squares is worse for Whisper, whose published solo throughput does not fit",
      command: run("unseen"),
    },
    {
      figure: "beside two and three others, model unseen",
      paper: "0.96, 0.91",
      ours: `${several("linear")}; default ${several("mixed")}, line ${several(LINE)}`,
      difference: "57 triples and 57 quads of five models, a part of the artifact's",
      command: run("left-out"),
    },
    {
      figure: "GPT2-xl, unseen, answers of 10 to 214 tokens",
      paper: "0.923",
      difference: "its rows were not evaluated",
    },
    {
      figure: "training of the linear model",
      paper: "trivial",
      ours: `${all.linear?.trainingCpuMs} ms; default ${all.mixed?.trainingCpuMs} ms`,
      difference: "CPU time of one thread on a busy machine",
      command: run("pairs"),
    },
  ];
}
