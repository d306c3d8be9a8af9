// The tables of docs/results/prediction.md that are of three and four jobs.
import { BUSY_LINE } from "./busy-line.ts";
import type { Spread } from "./contestants.ts";
import { type ByName, lines, percent, read } from "./table-lines.ts";

interface Composed {
  readonly sides: number;
  readonly multiplied: { readonly bias: number; readonly error: number };
  readonly added: { readonly bias: number; readonly error: number };
  /** The error of the mean of all sides. */
  readonly mean: number;
}

interface Choices {
  readonly truePairs: {
    readonly rows: number;
    readonly multiplied: { readonly mean: number };
    readonly added: { readonly mean: number };
  };
  readonly byError: readonly { readonly error: number; readonly ofOracle: Spread }[];
  readonly byChance: Spread;
}

interface Several {
  readonly rows: { readonly quads: number };
  readonly composedOfMeasuredPairs: ByName<Composed>;
  readonly choices: { readonly quads: Choices };
  readonly learned: ByName<ByName<{ readonly error: Spread; readonly covered?: Spread }>>;
}

const RESULT = "2026-11-30-predict-several";
/** Quads from other places of the same file. */
const OTHERS = "2026-11-26-predict-several-others";
const several = (name: string) => read(name) as unknown as Several;

const signed = (value: number): string => `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(3)}`;

/** Bias and error of the true pairs, composed. */
export function composed(): string[] {
  return lines(
    [
      "",
      "bias, multiplied",
      "error, multiplied",
      "bias, added",
      "error, added",
      "error of the mean",
    ],
    Object.entries(several(RESULT).composedOfMeasuredPairs).map(
      ([size, { sides, multiplied, added, mean }]) => [
        `${size} (${sides} sides)`,
        signed(multiplied.bias),
        multiplied.error.toFixed(3),
        signed(added.bias),
        added.error.toFixed(3),
        mean.toFixed(3),
      ],
    ),
  );
}

export function learnedOfSeveral(): string[] {
  const names = ["mixed", "ours", "forest", BUSY_LINE];
  return lines(
    ["predicted, learned from", ...names],
    Object.entries(several(RESULT).learned).map(([title, of]) => [
      title,
      ...names.map((name) => {
        const one = of[name];
        if (!one) return "";
        const error = one.error.mean.toFixed(3);
        return one.covered ? `${error}, ${percent(one.covered.mean)}` : error;
      }),
    ]),
  );
}

/** Fractions of the oracle's worth for predictors with known errors, on two parts of the artifact's quads. */
export function boundsOfChoices(): string[] {
  const parts = [OTHERS, RESULT].map(several);
  const all = parts.map(({ choices }) => choices.quads);
  const row = (title: string, of: (choices: Choices) => number | undefined) => [
    title,
    ...all.map((choices) => of(choices)?.toFixed(3) ?? ""),
  ];
  return lines(
    ["predictor", ...parts.map(({ rows }) => `${rows.quads} quads`)],
    [
      ...(all[0]?.byError ?? []).map(({ error }, i) =>
        row(
          i === 0 ? `the true values, each side with a random error of ${error}` : `of ${error}`,
          ({ byError }) => byError[i]?.ofOracle.mean,
        ),
      ),
      [
        "quads of which all pairs were measured",
        ...all.map(({ truePairs }) => `${truePairs.rows}`),
      ],
      row("the true pairs, multiplied", ({ truePairs }) => truePairs.multiplied.mean),
      row("the true pairs, added", ({ truePairs }) => truePairs.added.mean),
      row("a random choice", ({ byChance }) => byChance.mean),
    ],
  );
}
