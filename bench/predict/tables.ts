// The tables of docs/results/prediction.md, from results. Where several results have a learner, the last one counts.
import { BUSY_LINE } from "./busy-line.ts";
import { medianOf, type Spread } from "./contestants.ts";
import { h200Pairs, h200Predictors } from "./h200-tables.ts";
import { boundsOfChoices, composed, learnedOfSeveral } from "./several-tables.ts";
import { type ByName, lines, merged, percent, read } from "./table-lines.ts";

const resultsOf = <T>(files: readonly string[]): ByName<T> =>
  merged(files, ({ results }) => results as ByName<T>);

const spread = ({ mean, within }: Spread): string => `${mean.toFixed(3)} ± ${within.toFixed(3)}`;
const figure = (value: number): string => String(Number(value.toPrecision(3)));

const learned = ["mixed", "ours", "chosen", "linear", "ridge", "forest", "network", "search"];

interface LeftOut {
  readonly error: number;
  readonly covered?: number;
  readonly ofOracle?: Spread;
}
interface Judged {
  readonly groups: number;
  readonly rows: number;
  readonly sides: number;
  readonly choices: number;
  readonly chance: Spread;
}
interface LeftOutSet {
  readonly rows: number;
  readonly models: number;
  readonly modelLeftOut: ByName<ByName<LeftOut> & { readonly judged: Judged }>;
}

const LUCID = ["2026-11-24-predict-left-out-lucid", "2026-11-24-predict-left-out-lucid-ours"];
const KACE = "2026-11-30-predict-left-out-kace";
const H200 = "2026-11-30-predict-left-out-h200";
const setOf = (file: string): LeftOutSet => {
  const [set] = Object.values(read(file).sets as ByName<LeftOutSet>);
  if (!set) throw new Error(`${file} has no set`);
  return set;
};

/** A column of errors: its title, over how much it is, and a cell by contestant. */
interface Column {
  readonly title: string;
  readonly judged: string;
  readonly of: ByName<LeftOut>;
}

function leftOutColumns(): readonly Column[] {
  const lucid = merged(LUCID, ({ sets }) => {
    const [set] = Object.values(sets as ByName<LeftOutSet>);
    const nested = set?.modelLeftOut["36 rows at most"] as unknown as
      | LeftOutSet["modelLeftOut"]
      | undefined;
    const all = (nested ?? set?.modelLeftOut)?.["2 clients"] ?? {};
    return { ...all, [BUSY_LINE]: (all as ByName<LeftOut>)["sum of smBusy"] } as ByName<LeftOut>;
  });
  const { rows, models } = setOf(LUCID[1] ?? "");
  const column = (title: string, file: string, size: string): Column => {
    const all = setOf(file).modelLeftOut[size];
    if (!all) throw new Error(`${file} has nothing of ${size}`);
    const { groups, sides } = all.judged;
    return { title, judged: `${groups} models, ${sides} sides`, of: all };
  };
  return [
    { title: "Lucid, 2 jobs", judged: `${models} models, ${rows} pairs`, of: lucid },
    column("H200, 2 jobs", H200, "2 clients"),
    ...[2, 3, 4].map((size) => column(`KACE, ${size} jobs`, KACE, `${size} clients`)),
  ];
}

function leftOutErrors(): string[] {
  const columns = leftOutColumns();
  const cell = (one: LeftOut | undefined): string => {
    if (!one) return "";
    const error = one.error.toFixed(3);
    return one.covered === undefined ? error : `${error}, ${percent(one.covered)}`;
  };
  return lines(
    ["", ...columns.map(({ title }) => title)],
    [
      ["judged", ...columns.map(({ judged }) => judged)],
      ...[...learned, "mlp", BUSY_LINE, "mean"].map((name) => [
        name,
        ...columns.map(({ of }) => cell(of[name])),
      ]),
    ],
  );
}

function leftOutChoices(): string[] {
  const { modelLeftOut } = setOf(KACE);
  const sizes = ["2 clients", "3 clients", "4 clients"].map((size) => {
    const all = modelLeftOut[size];
    if (!all) throw new Error(`${KACE} has nothing of ${size}`);
    return all;
  });
  const row = (title: string, name = title) => [
    title,
    ...sizes.map((all) => {
      const reached = all[name]?.ofOracle;
      return reached ? spread(reached) : "";
    }),
  ];
  return lines(
    ["", "2 jobs", "3 jobs", "4 jobs"],
    [
      [
        "judged",
        ...sizes.map(({ judged }) => `${judged.groups} models, ${judged.choices} choices`),
      ],
      ...[...learned, "mlp"].map((name) => row(name)),
      row(BUSY_LINE),
      row("largest sum of solo throughputs", "mean"),
      ["random choice", ...sizes.map(({ judged }) => spread(judged.chance))],
    ],
  );
}

interface Checked {
  readonly kace: {
    readonly learnedFrom120: {
      readonly ofOracle: ByName<ByName<number>>;
      readonly error: ByName<ByName<number>>;
    };
    readonly learnedFrom400: { readonly error: ByName<ByName<number>> };
  };
  readonly miso: { readonly error: ByName<number> };
}

function checked(): string[] {
  const { kace, miso } = read("2026-11-30-predict-checked") as unknown as Checked;
  const { learnedFrom120: few, learnedFrom400: many } = kace;
  const cell = (value: number | undefined) => value?.toFixed(3) ?? "";
  return lines(
    [
      "",
      ...[2, 3, 4].map((size) => `of the oracle, ${size} jobs`),
      ...[3, 4].map((size) => `error, ${size} jobs`),
      ...[3, 4].map((size) => `error, ${size} jobs, of 400 rows`),
      "error, MISO",
    ],
    ["mixed", "ours", "forest", BUSY_LINE].map((name) => [
      name,
      ...["2", "3", "4"].map((size) => cell(few.ofOracle[name]?.[size])),
      ...["3", "4"].map((size) => cell(few.error[name]?.[size])),
      ...["3", "4"].map((size) => cell(many.error[name]?.[size])),
      cell(miso.error[name]),
    ]),
  );
}

interface Protocol {
  readonly all: Spread;
  readonly heldOut: Spread;
  readonly regretAll: Spread;
  readonly regretHeldOut: Spread;
  readonly r2?: Spread;
  readonly rmse?: Spread;
  readonly trainingCpuMs?: number;
}

const inProtocol = [
  ...learned,
  "mlp by sides",
  "forest, Xu et al.",
  BUSY_LINE,
  "list of partners",
  "memcap",
  "sm%",
  "mem%",
  "best of the rules",
  "best list in hindsight",
  "random",
];

function protocol(
  files: readonly string[],
  names: readonly [string, string],
  [all, heldOut]: readonly ["all", "heldOut"] | readonly ["regretAll", "regretHeldOut"],
  decimals: number,
): string[] {
  const results = resultsOf<Protocol>(files);
  const ms = ({ r2, trainingCpuMs }: Protocol) =>
    r2 && trainingCpuMs !== undefined ? figure(trainingCpuMs) : "";
  return lines(
    ["", ...names, "R2", "RMSE", "training, CPU ms"],
    inProtocol.flatMap((name) => {
      const one = results[name];
      if (!one) return [];
      const [r2, rmse] = [one.r2?.mean.toFixed(2) ?? "", one.rmse?.mean.toFixed(decimals) ?? ""];
      return [[name, spread(one[all]), spread(one[heldOut]), r2, rmse, ms(one)]];
    }),
  );
}

function unseen(): string[] {
  const results = resultsOf<{ readonly allOtherRows: Spread; readonly rows36: Spread }>([
    "2026-11-21-predict-unseen",
    "2026-11-24-predict-unseen-mixed",
    "2026-11-30-predict-unseen-line",
  ]);
  return lines(
    ["", "all other rows", "36 of them"],
    inProtocol.flatMap((name) => {
      const one = results[name];
      return one ? [[name, one.allOtherRows.mean.toFixed(3), spread(one.rows36)]] : [];
    }),
  );
}

interface Shares {
  readonly error: number;
  readonly covered: number;
  readonly folds: readonly { readonly trainingCpuMs: number }[];
}

function shares(): string[] {
  const results = resultsOf<Shares>([
    "2026-11-21-predict-shares",
    "2026-11-21-predict-shares-ours",
  ]);
  const line = read("2026-11-30-predict-shares-line")[BUSY_LINE] as { readonly error: number };
  return lines(
    ["", "error", "truths within the bounds", "training, CPU ms"],
    [
      ...["ours", "chosen", "linear", "ridge", "forest", "network", "mlp", "search"].flatMap(
        (name) => {
          const one = results[name];
          if (!one) return [];
          const ms = medianOf(one.folds.map(({ trainingCpuMs }) => trainingCpuMs));
          return [[name, one.error.toFixed(3), percent(one.covered), figure(ms)]];
        },
      ),
      [BUSY_LINE, line.error.toFixed(3), "", ""],
    ],
  );
}

interface Size {
  readonly part: number;
  readonly results: ByName<{
    readonly r2: Spread;
    readonly ofOracle: Spread;
    readonly trainingCpuMs: number;
  }>;
}

function sizes(): string[] {
  const of = (file: string) => read(file).results as readonly Size[];
  const base = of("2026-11-21-predict-sizes");
  const line = of("2026-11-30-predict-sizes-line");
  const names = [...learned.slice(1), "mlp by sides", "forest, Xu et al.", BUSY_LINE];
  return lines(
    ["", ...base.map(({ part }) => percent(part))],
    names.map((name) => [
      name,
      ...base.map(({ results }, i) => {
        const one = results[name] ?? line[i]?.results[name];
        return one
          ? `${one.ofOracle.mean.toFixed(3)}, ${one.r2.mean.toFixed(2)}, ${figure(one.trainingCpuMs)}`
          : "";
      }),
    ]),
  );
}

/** Name of a table in docs/results/prediction.md → its lines. */
export const predictionTables = (): ReadonlyMap<string, readonly string[]> =>
  new Map([
    ["errors with a model left out", leftOutErrors()],
    ["choices with a model left out", leftOutChoices()],
    ["checked", checked()],
    ["bounds of choices", boundsOfChoices()],
    ["composed of pairs", composed()],
    ["learned of several", learnedOfSeveral()],
    ["H200 pairs", h200Pairs()],
    ["H200", h200Predictors()],
    [
      "pairs",
      protocol(
        [
          "2026-11-21-predict-pairs",
          "2026-11-24-predict-pairs-mixed",
          "2026-11-21-predict-pairs-ours",
          "2026-11-30-predict-pairs-line",
        ],
        ["all measured partners", "held-out rows only"],
        ["all", "heldOut"],
        1,
      ),
    ],
    [
      "retained",
      protocol(
        ["2026-11-21-predict-retained", "2026-11-30-predict-retained-line"],
        ["regret, all partners", "regret, held-out rows"],
        ["regretAll", "regretHeldOut"],
        3,
      ),
    ],
    ["unseen", unseen()],
    ["SM shares", shares()],
    ["training set sizes", sizes()],
  ]);
