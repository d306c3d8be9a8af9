// Requests as `cotenant load-llm --each` writes them, a JSON document a line.
import { UserError } from "#core";
import type { Tokens } from "./engine.ts";
import type { SeenRequest } from "./fit.ts";
import { quantile } from "./played.ts";
import type { Latencies } from "./study.ts";

interface Recorded {
  /** Those that were answered. */
  readonly requests: readonly SeenRequest[];
  readonly tokens: readonly Tokens[];
  /** Arrivals a second. */
  readonly perS: number;
  readonly figures: Latencies;
}

/** `path`: for messages. Throws a UserError that names the line which is none of a request. */
export function recorded(text: string, path: string): Recorded {
  const lines = text.split("\n");
  const all = lines.flatMap((line, i) =>
    line.trim() === "" ? [] : [requestIn(line, path, i + 1)],
  );
  const requests = all.flatMap(({ seen }) => (seen ? [seen] : []));
  const arrivals = all.map(({ atS }) => atS);
  const both = (values: readonly number[]) =>
    [quantile(values, 0.5), quantile(values, 0.99)] as const;
  const seconds = Math.max(...arrivals) - Math.min(...arrivals);
  return {
    requests,
    tokens: requests.map(({ promptTokens, tokensMs }) => ({
      prompt: promptTokens,
      output: Math.max(2, tokensMs.length),
    })),
    perS: all.length > 1 ? (all.length - 1) / seconds : Number.NaN,
    figures: {
      requests: requests.length,
      ttftMs: both(requests.map(({ arrivedMs, tokensMs: [first = 0] }) => first - arrivedMs)),
      tpotMs: both(
        requests.flatMap(({ tokensMs }) => {
          const [first = 0] = tokensMs;
          const steps = tokensMs.length - 1;
          return steps > 0 ? [((tokensMs.at(-1) ?? first) - first) / steps] : [];
        }),
      ),
      e2eMs: both(
        requests.map(({ arrivedMs, tokensMs }) => (tokensMs.at(-1) ?? arrivedMs) - arrivedMs),
      ),
    },
  };
}

function requestIn(line: string, path: string, number: number) {
  const { atS, lateMs = 0, promptTokens, ttftMs, itlMs } = objectIn(line) ?? {};
  const isRead = isNumber(atS) && isNumber(lateMs) && isNumber(promptTokens);
  if (!isRead || !Array.isArray(itlMs) || !itlMs.every(isNumber))
    throw new UserError(
      "BAD_INPUT",
      `${path}, line ${number}: this is not a request.`,
      "Give a file that cotenant load-llm --each has written.",
    );
  const arrivedMs = 1000 * atS + lateMs;
  if (!isNumber(ttftMs)) return { atS, seen: undefined };
  let ms = arrivedMs + ttftMs;
  const tokensMs = [ms, ...itlMs.map((passed) => (ms += passed))];
  return { atS, seen: { arrivedMs, promptTokens, tokensMs } };
}

function objectIn(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}

const isNumber = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value);
