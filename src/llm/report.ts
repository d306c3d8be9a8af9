import { table } from "#core";
import { type LlmFigures, type Quantiles, WINDOW_S } from "./figures.ts";
import type { PrefixCache } from "./prefix-cache.ts";
import type { WarmUpFigures } from "./warm-up.ts";

/** A program that is later than this at p99 adds to what it measures. */
const MAX_DELAY_MS = 5;

export interface RunFacts {
  readonly delayMs: number; // events waited in this program for this long at p99
  readonly warmUp: WarmUpFigures;
  readonly promptSeed: number;
  readonly prefixCache: PrefixCache | undefined; // undefined: the server does not tell
}

export function llmReport(title: string, figures: LlmFigures, facts: RunFacts): string {
  const { delayMs } = facts;
  const { requests, seconds, failed, objectives, goodputPerS } = figures;
  const lateMs = Math.max(figures.lateMs.p99 || 0, delayMs);
  const bad = requests - figures.ended;
  return [
    `${title}: ${requests} requests in ${seconds.toFixed(0)} s, ${figures.ended} ended, ${bad} failed`,
    ...failed.map(
      ({ why, count, example }) => `  ${count} x ${why}${example ? `, such as: ${example}` : ""}`,
    ),
    warmUpText(facts.warmUp),
    "",
    ...table(
      [
        ["ms", "mean", "p50", "p90", "p99"],
        row("time to first token (TTFT)", figures.ttftMs),
        row("time per output token (TPOT)", figures.tpotMs),
        row("between tokens (ITL)", figures.itlMs),
        row("arrival to last token (E2E)", figures.e2eMs),
      ],
      1,
    ),
    "",
    `${figures.requestsPerS.toFixed(2)} requests/s, ${figures.tokensPerS.toFixed(1)} output tokens/s, ${figures.promptTokensPerS.toFixed(1)} prompt tokens/s`,
    prefixCacheText(facts),
    ...promptLengthText(figures.promptTokens),
    ...objectives.map(
      ({ text, measuredMs, met }) => `${text}: ${millis(measuredMs)} ms, ${met ? "met" : "missed"}`,
    ),
    ...(goodputPerS === undefined
      ? []
      : [
          `goodput ${goodputPerS.toFixed(2)} requests/s, ${shareOf(goodputPerS * seconds, requests)} of those that arrived`,
          violations(figures),
        ]),
    ...(lateMs > MAX_DELAY_MS
      ? [
          `This program was ${millis(lateMs)} ms late at p99: it had too little CPU time, so latencies are too high. Use a lower --rate or a free core.`,
        ]
      : []),
  ].join("\n");
}

const warmUpText = ({ requests, failed, seconds }: WarmUpFigures): string =>
  requests === 0
    ? "no warm-up before"
    : `warm-up before: ${requests} requests in ${seconds.toFixed(1)} s${failed > 0 ? `, ${failed} failed` : ""}`;

function prefixCacheText({ prefixCache, promptSeed }: RunFacts): string {
  const hits = prefixCache
    ? `${(100 * prefixCache.hitRate).toFixed(1)} % of ${prefixCache.queries} prompt tokens`
    : "not told by the server";
  return `prefix cache hits: ${hits}; --prompt-seed ${promptSeed} sends the same prompts again`;
}

/** Token ids are the whole prompt; of words, and in a chat, a server makes more or fewer tokens. */
const promptLengthText = ({ asked, counted }: LlmFigures["promptTokens"]): string[] =>
  Number.isFinite(counted) && asked !== counted
    ? [
        `prompts have ${counted.toFixed(1)} tokens in the mean, as the server counts; ${asked.toFixed(1)} were asked for`,
      ]
    : [];

const row = (name: string, { mean, p50, p90, p99 }: Quantiles): string[] => [
  name,
  ...[mean, p50, p90, p99].map(millis),
];

const millis = (ms: number): string =>
  Number.isFinite(ms) ? ms.toFixed(ms < 10 ? 2 : ms < 1000 ? 1 : 0) : "-";

const shareOf = (part: number, whole: number): string =>
  whole === 0 ? "-" : `${((100 * part) / whole).toFixed(1)} %`;

function violations({ windows }: LlmFigures): string {
  const violated = windows.filter(({ violates }) => violates.length > 0);
  const first = violated
    .slice(0, MAX_NAMED)
    .map(
      ({ fromS, violates }) =>
        `${fromS} s (${violates.map((text) => text.split("=")[0]).join(", ")})`,
    );
  const more = violated.length > MAX_NAMED ? ", …" : "";
  return `windows of ${WINDOW_S} s that miss an objective: ${violated.length} of ${windows.length}${first.length > 0 ? `: from ${first.join(", ")}${more}` : ""}`;
}

const MAX_NAMED = 5;
