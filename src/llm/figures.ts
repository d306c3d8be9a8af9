// docs/guide/llm.md defines each figure.
import { quantile } from "#core";
import type { Latency } from "#engines";
import type { RequestObjective, RequestQuantile } from "#policy";
import type { Sent } from "./play.ts";

export interface RequestFigures {
  readonly atS: number;
  readonly lateMs: number;
  readonly promptTokens: number;
  readonly tokens: number;
  readonly ttftMs: number | undefined;
  readonly tpotMs: number | undefined; // undefined for an answer of one token
  readonly e2eMs: number | undefined;
  readonly itlMs: readonly number[];
  readonly failed: string | undefined;
}

export interface MeasuredObjective extends RequestObjective {
  readonly text: string;
}

export interface Quantiles {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

interface Window {
  readonly fromS: number;
  readonly requests: number;
  readonly failed: number;
  readonly good: number;
  readonly ttftMs: Quantiles;
  readonly tpotMs: Quantiles;
  readonly violates: readonly string[]; // this window's requests alone miss them
}

export interface LlmFigures {
  readonly seconds: number;
  readonly requests: number;
  readonly ended: number;
  readonly failed: readonly {
    readonly why: string;
    readonly count: number;
    readonly example: string;
  }[];
  readonly ttftMs: Quantiles;
  readonly tpotMs: Quantiles;
  readonly itlMs: Quantiles;
  readonly e2eMs: Quantiles;
  /** Requests count that ended within the seconds, whenever they arrived. */
  readonly requestsPerS: number;
  readonly tokensPerS: number;
  readonly promptTokensPerS: number;
  /** These are mean lengths of requests of which the server told the length. */
  readonly promptTokens: { readonly asked: number; readonly counted: number };
  readonly objectives: readonly (MeasuredObjective & {
    readonly measuredMs: number;
    readonly met: boolean;
  })[];
  readonly goodputPerS: number | undefined; // undefined without objectives
  readonly windows: readonly Window[];
  readonly lateMs: Quantiles;
}

export const WINDOW_S = 10;

export interface Span {
  readonly beginNs: number;
  readonly seconds: number;
}

export function figuresOf(
  sent: readonly Sent[],
  span: Span,
  objectives: readonly MeasuredObjective[],
): { readonly figures: LlmFigures; readonly requests: readonly RequestFigures[] } {
  const { beginNs, seconds } = span;
  const counted = sent.filter(({ arrivedNs }) => arrivedNs >= beginNs);
  const requests = counted.map((one) => requestFigures(one, beginNs));
  const good = (one: RequestFigures) => isGood(one, objectives);
  const all = (of: readonly RequestFigures[]) => timesOf(of);
  const times = all(requests);
  const endedAt = sent.filter(({ answer }) => !answer.failed && within(lastNs(answer), span));
  const tokens = sent.reduce((sum, { answer }) => sum + tokensWithin(answer, span), 0);
  const promptTokens = sent
    .filter(({ answer }) => within(answer.timesNs[0], span))
    .reduce((sum, { asked, answer }) => sum + (answer.promptTokens ?? asked.prompt), 0);
  return {
    requests,
    figures: {
      seconds,
      requests: requests.length,
      ended: requests.filter(({ failed }) => failed === undefined).length,
      failed: failuresOf(counted),
      ttftMs: quantilesOf(times.ttft),
      tpotMs: quantilesOf(times.tpot),
      itlMs: quantilesOf(times.itl),
      e2eMs: quantilesOf(times.e2e),
      requestsPerS: endedAt.length / seconds,
      tokensPerS: tokens / seconds,
      promptTokensPerS: promptTokens / seconds,
      promptTokens: promptLengths(counted),
      objectives: objectives.map((objective) => {
        const measuredMs = measured(times, objective);
        return { ...objective, measuredMs, met: measuredMs <= objective.limitUs / 1e3 };
      }),
      goodputPerS: objectives.length === 0 ? undefined : requests.filter(good).length / seconds,
      windows: windowsOf(requests, seconds).map(([fromS, of]) => {
        const own = all(of);
        return {
          fromS,
          requests: of.length,
          failed: of.filter(({ failed }) => failed !== undefined).length,
          good: of.filter(good).length,
          ttftMs: quantilesOf(own.ttft),
          tpotMs: quantilesOf(own.tpot),
          violates: objectives
            .filter((objective) => measured(own, objective) > objective.limitUs / 1e3)
            .map(({ text }) => text),
        };
      }),
      lateMs: quantilesOf(requests.map(({ lateMs }) => lateMs)),
    },
  };
}

function promptLengths(sent: readonly Sent[]): LlmFigures["promptTokens"] {
  const told = sent.flatMap(({ asked, answer }) =>
    answer.promptTokens === undefined ? [] : [[asked.prompt, answer.promptTokens] as const],
  );
  const mean = (of: 0 | 1) => told.reduce((sum, one) => sum + one[of], 0) / told.length;
  return { asked: mean(0), counted: mean(1) };
}

function requestFigures(
  { asked, arrivedNs, sentNs, answer }: Sent,
  beginNs: number,
): RequestFigures {
  const { timesNs, tokens, failed } = answer;
  const [first, last] = [timesNs[0], lastNs(answer)];
  const since = (ns: number | undefined) => (ns === undefined ? undefined : (ns - arrivedNs) / 1e6);
  return {
    atS: (arrivedNs - beginNs) / 1e9,
    lateMs: (sentNs - arrivedNs) / 1e6,
    promptTokens: answer.promptTokens ?? asked.prompt,
    tokens,
    ttftMs: since(first),
    tpotMs:
      first === undefined || last === undefined || tokens < 2
        ? undefined
        : (last - first) / 1e6 / (tokens - 1),
    e2eMs: since(last),
    itlMs: timesNs.slice(1).map((ns, i) => (ns - (timesNs[i] ?? ns)) / 1e6),
    failed: failed?.why,
  };
}

/** Gaps inside a request are judged by its TPOT alone. */
const isGood = (one: RequestFigures, objectives: readonly MeasuredObjective[]): boolean =>
  one.failed === undefined &&
  objectives.every(({ kind, limitUs }) => {
    if (kind === "itl") return true;
    const ms = { ttft: one.ttftMs, tpot: one.tpotMs, e2e: one.e2eMs }[kind] ?? 0;
    return ms <= limitUs / 1e3;
  });

function timesOf(
  requests: readonly RequestFigures[],
): Readonly<Record<Latency, readonly number[]>> {
  const ended = requests.filter(({ failed }) => failed === undefined);
  const known = (values: readonly (number | undefined)[]) =>
    values.filter((ms) => ms !== undefined);
  return {
    ttft: known(ended.map(({ ttftMs }) => ttftMs)),
    tpot: known(ended.map(({ tpotMs }) => tpotMs)),
    e2e: known(ended.map(({ e2eMs }) => e2eMs)),
    itl: ended.flatMap(({ itlMs }) => itlMs),
  };
}

const partOf = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99 } as const;

/** NaN without values. */
const figureOf = (values: readonly number[], which: RequestQuantile): number =>
  which === "mean"
    ? values.reduce((sum, value) => sum + value, 0) / values.length
    : quantile(values, partOf[which]);

const measured = (
  times: Readonly<Record<Latency, readonly number[]>>,
  { kind, quantile: which }: MeasuredObjective,
): number => figureOf(times[kind], which);

const quantilesOf = (values: readonly number[]): Quantiles => ({
  mean: figureOf(values, "mean"),
  p50: figureOf(values, "p50"),
  p90: figureOf(values, "p90"),
  p99: figureOf(values, "p99"),
});

const lastNs = ({ timesNs }: Sent["answer"]) => timesNs.at(-1);

const within = (ns: number | undefined, { beginNs, seconds }: Span): boolean =>
  ns !== undefined && ns >= beginNs && ns < beginNs + seconds * 1e9;

/** A server that sends several tokens in a chunk is taken to send equally many in each. */
const tokensWithin = ({ timesNs, tokens }: Sent["answer"], span: Span): number =>
  timesNs.length === 0
    ? 0
    : (tokens * timesNs.filter((ns) => within(ns, span)).length) / timesNs.length;

function failuresOf(sent: readonly Sent[]): LlmFigures["failed"] {
  const found = new Map<string, { count: number; example: string }>();
  for (const { answer } of sent) {
    if (!answer.failed) continue;
    const { why, example } = answer.failed;
    const known = found.get(why);
    found.set(why, { count: (known?.count ?? 0) + 1, example: known?.example || example });
  }
  return [...found].map(([why, of]) => ({ why, ...of })).sort((a, b) => b.count - a.count);
}

/** A last piece of less than half a window belongs to the one before it. */
function windowsOf(
  requests: readonly RequestFigures[],
  seconds: number,
): readonly (readonly [fromS: number, of: readonly RequestFigures[]])[] {
  const count = Math.max(1, Math.round(seconds / WINDOW_S));
  const windows = Array.from(
    { length: count },
    (_, i) => [i * WINDOW_S, [] as RequestFigures[]] as const,
  );
  for (const one of requests)
    windows[Math.min(count - 1, Math.max(0, Math.floor(one.atS / WINDOW_S)))]?.[1].push(one);
  return windows;
}
