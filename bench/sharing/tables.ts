// The tables of the nine pairs, as README.md and docs/results show them.

import type { Merged, Row } from "#bench";
import { table } from "#bench";
import { millis, percent, times, whole } from "#measure";
import type { MeasuredPair, PairRows } from "./pairs.ts";

const NONE = "–";

const right = (count: number) => Array.from({ length: count }, () => "right" as const);

const rowOf = ({ pair }: Pick<PairRows, "pair">, arrangement: string): Row | undefined =>
  pair.rows.find((row) => row.arrangement === arrangement);

const show = <T>(value: T | undefined, text: (value: T) => string): string =>
  value === undefined ? NONE : text(value);

/** "1.05" */
const plain = (ratio: number): string => times(ratio).slice(0, -1);
const interval = ({ value, low, high }: Merged): string =>
  `${plain(value)} [${plain(low)}, ${plain(high)}]`;

/** p99 slowdown, arrival to done / retained best-effort throughput. */
const cell = (row: Row | undefined): string =>
  row
    ? `${show(row.latency.p99, ({ value }) => times(value))} / ${show(row.kept, ({ value }) => percent(value))}`
    : NONE;

export const overview = (pairs: readonly MeasuredPair[]): string[] =>
  cells(pairs, [
    ["time slicing", "time-slicing"],
    ["MPS", "mps"],
    ["MPS + priority", "mps-priority"],
    ["strict, isolated", "strict-isolated"],
    ["strict, mps", "strict-mps"],
    ["floor", "floor"],
  ]);

/**
 * For a reader who does not know the policies' names yet: an easy pair and the worst graph pair, in ms. `gaps`: a pair that MPS wins, under the
 * default policy, which is `strict` for the others.
 */
export function landing(pairs: readonly MeasuredPair[], gaps: PairRows): string[] {
  const pairOf = (service: string, training: string) =>
    pairs.find((pair) => pair.service === service && pair.training === training);
  const chosen = [pairOf("BERT-large", "BERT-large fp32"), pairOf("ResNet50", "GPT-2-large"), gaps];
  const shown = chosen.filter((pair) => pair !== undefined);
  const rows: readonly (readonly [string, ...string[]])[] = [
    ["the service alone", "solo"],
    ["both, plain CUDA (time slicing)", "time-slicing"],
    ["both, MPS with priority", "mps-priority"],
    ["both, Cotenant", "cotenant-isolated", "strict-isolated"],
  ];
  return table(
    ["", ...shown.flatMap(({ service, training }) => [`${service} p99`, `${training} retains`])],
    ["left", ...right(2 * shown.length)],
    rows.map(([title, ...names]) => [
      title,
      ...shown
        .map((pair) => names.map((name) => rowOf(pair, name)).find((row) => row !== undefined))
        .flatMap((row) => [
          show(row?.latencyMs.p99, millis),
          show(row?.kept, ({ value }) => percent(value)),
        ]),
    ]),
  );
}

/** A row per pair, a column per [title, arrangements]: of these the first that was measured. */
function cells(
  pairs: readonly PairRows[],
  shown: readonly (readonly [string, ...string[]])[],
): string[] {
  return table(
    ["service", "training", "alone, p99", ...shown.map(([title]) => title)],
    ["left", "left", ...right(shown.length + 1)],
    pairs.map((one) => [
      one.service,
      one.training,
      show(rowOf(one, "solo")?.latencyMs.p99, millis),
      ...shown.map(([, ...names]) =>
        cell(names.map((name) => rowOf(one, name)).find((row) => row !== undefined)),
      ),
    ]),
  );
}

/** One pair's figure in one mode, relative to the floor of the same measurements. */
interface Found {
  readonly burstP50: number | undefined;
  readonly burstP99: number | undefined;
  readonly ofPossible: number | undefined;
}

/** The figure of the newest code with measurements of both. */
function found({ codes }: MeasuredPair, arrangement: string, floor: string): Found {
  const [own, least] =
    codes
      .map((pair) => [rowOf({ pair }, arrangement), rowOf({ pair }, floor)])
      .find(([a, b]) => a && b) ?? [];
  const ratio = (a: Merged | undefined, b: Merged | undefined) =>
    a && b ? a.value / b.value : undefined;
  return {
    burstP50: ratio(own?.burst.p50, least?.burst.p50),
    burstP99: ratio(own?.burst.p99, least?.burst.p99),
    ofPossible: own?.ofPossible,
  };
}

const sorted = (values: readonly (number | undefined)[]): number[] =>
  values.filter((value) => value !== undefined).sort((a, b) => a - b);

function median(values: readonly (number | undefined)[]): number | undefined {
  const all = sorted(values);
  const [low, high] = [all[Math.ceil(all.length / 2) - 1], all[Math.floor(all.length / 2)]];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
}

/** A summary of some pairs would look like one of all. */
const ofAll = (
  values: readonly (number | undefined)[],
  of: (values: readonly (number | undefined)[]) => number | undefined,
): number | undefined => (values.includes(undefined) ? undefined : of(values));

/** The target was a ratio to the isolated floor; in brackets stands the one to the floor under MPS. */
export function toTheFloor(pairs: readonly MeasuredPair[]): string[] {
  const isolated = pairs.map((one) => found(one, "strict-isolated", "floor"));
  const mps = pairs.map((one) => found(one, "strict-mps", "floor"));
  const mpsToOwn = pairs.map((one) => found(one, "strict-mps", "floor-mps"));
  const both = (to: number | undefined, own: number | undefined) =>
    `${show(to, ratioText)}${own === undefined ? "" : ` (${ratioText(own)})`}`;
  const p99 = (one: MeasuredPair, arrangement: string) =>
    show(rowOf(one, arrangement)?.latency.p99, interval);
  const kept = (one: MeasuredPair, arrangement: string) => {
    const row = rowOf(one, arrangement);
    return `${show(row?.kept, ({ value }) => percent(value))}, ${show(row?.ofPossible, percent)}`;
  };
  const over = (
    title: string,
    of: (values: readonly (number | undefined)[], least?: boolean) => number | undefined,
  ): string[] => [
    title,
    show(of(isolated.map(({ burstP50 }) => burstP50)), ratioText),
    show(of(isolated.map(({ burstP99 }) => burstP99)), ratioText),
    "",
    show(
      of(
        isolated.map(({ ofPossible }) => ofPossible),
        true,
      ),
      percent,
    ),
    both(
      of(mps.map(({ burstP50 }) => burstP50)),
      ofAll(
        mpsToOwn.map(({ burstP50 }) => burstP50),
        of,
      ),
    ),
    both(
      of(mps.map(({ burstP99 }) => burstP99)),
      ofAll(
        mpsToOwn.map(({ burstP99 }) => burstP99),
        of,
      ),
    ),
    "",
    show(
      of(
        mps.map(({ ofPossible }) => ofPossible),
        true,
      ),
      percent,
    ),
  ];
  const side = (mode: string) => [
    `${mode}: burst p50`,
    "burst p99",
    "p99 [95 %]",
    "retained, of turn bound",
  ];
  return table(
    ["", ...side("isolated"), ...side("mps")],
    ["left", ...right(8)],
    [
      ...pairs.map((one, i) => [
        `${one.service} + ${one.training}`,
        show(isolated[i]?.burstP50, ratioText),
        show(isolated[i]?.burstP99, ratioText),
        p99(one, "strict-isolated"),
        kept(one, "strict-isolated"),
        both(mps[i]?.burstP50, mpsToOwn[i]?.burstP50),
        both(mps[i]?.burstP99, mpsToOwn[i]?.burstP99),
        p99(one, "strict-mps"),
        kept(one, "strict-mps"),
      ]),
      over("median", median),
      over("worst", (values, least = false) => sorted(values).at(least ? 0 : -1)),
    ],
  );
}

const ratioText = (ratio: number): string => ratio.toFixed(2);

/** Every measurement of every pair: burst p50 / burst p99 / p99 from arrival to done, each to solo. */
export function everyRun(pairs: readonly MeasuredPair[]): string[] {
  const shown = ["floor", "strict-isolated", "floor-mps", "strict-mps", "mps-priority"] as const;
  const figures = (row: Row | undefined): string =>
    row?.burst.p50 && row.burst.p99 && row.latency.p99
      ? [row.burst.p50, row.burst.p99, row.latency.p99].map(({ value }) => plain(value)).join(" / ")
      : NONE;
  return table(
    ["result", "commit", "requests a cell", "solo p50, p99", ...shown],
    ["left", "left", ...right(shown.length + 2)],
    pairs.flatMap(({ all }) =>
      all.map(({ name, result, pair }) => {
        const solo = rowOf({ pair }, "solo");
        return [
          `${result.date.slice(5, 10)} ${name}`,
          result.commit.replace(/^([0-9a-f]{7})[0-9a-f]*/, "$1"),
          // In a call of several waves solo has been measured in each.
          show((rowOf({ pair }, "strict-isolated") ?? solo)?.requests, whole),
          `${show(solo?.burstMs.p50, millis)}, ${show(solo?.latencyMs.p99, millis)}`,
          ...shown.map((arrangement) => figures(rowOf({ pair }, arrangement))),
        ];
      }),
    ),
  );
}
