// Requests as `cotenant load-llm --each` writes them, a JSON document a line.
import { quantile, UserError } from "#core";
import type { Tokens } from "./engine.ts";
import type { SeenRequest } from "./fit.ts";
import type { Latencies } from "./study.ts";

interface Recorded {
  /** Those that were answered. */
  readonly requests: readonly SeenRequest[];
  readonly tokens: readonly Tokens[];
  /** Arrivals a second; undefined if all came at once. */
  readonly perS: number | undefined;
  readonly figures: Latencies;
}

/** `path`: for messages. Throws a UserError that names the line which is none of a request. */
export function recorded(text: string, path: string): Recorded {
  const lines = text.split("\n");
  const all = lines.flatMap((line, i) =>
    line.trim() === "" ? [] : [requestIn(line, path, i + 1)],
  );
  const requests = all.flatMap(({ seen }) => (seen ? [seen] : []));
  checkPieces(all, path);
  const arrivals = Float64Array.from(all, ({ atS }) => atS).sort();
  const both = (values: readonly number[]) =>
    [quantile(values, 0.5), quantile(values, 0.99)] as const;
  const seconds = (arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0);
  return {
    requests,
    tokens: requests.map(({ promptTokens, tokensMs }) => ({
      prompt: promptTokens,
      output: Math.max(2, tokensMs.length),
    })),
    perS: seconds > 0 ? (all.length - 1) / seconds : undefined,
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

/** The last token of an answer may have no text. */
const MAX_TOKENS_A_PIECE = 1.5;

function checkPieces(
  all: readonly { readonly tokens: number; readonly pieces: number }[],
  path: string,
): void {
  const [tokens, pieces] = all.reduce(([t, p], one) => [t + one.tokens, p + one.pieces], [0, 0]);
  if (tokens <= MAX_TOKENS_A_PIECE * pieces) return;
  throw new UserError(
    "SEVERAL_AT_ONCE",
    `${path}: the engine sent ${(tokens / pieces).toFixed(1)} tokens at a time, so what a step takes can't be told.`,
    "Only engines that send each token as it is made are modelled: switch speculative decoding and batched output off.",
  );
}

function requestIn(line: string, path: string, number: number) {
  const { atS, promptTokens, tokens, ttftMs, itlMs } = objectIn(line) ?? {};
  const isRead = isNumber(atS) && isNumber(promptTokens) && isNumber(tokens);
  if (!isRead || !Array.isArray(itlMs) || !itlMs.every(isNumber))
    throw new UserError(
      "BAD_INPUT",
      `${path}, line ${number}: this is not a request.`,
      "Give a file that cotenant load-llm --each has written.",
    );
  const arrivedMs = 1000 * atS;
  const pieces = itlMs.length + 1;
  if (!isNumber(ttftMs)) return { atS, tokens: 0, pieces: 0, seen: undefined };
  let ms = arrivedMs + ttftMs;
  const tokensMs = [ms, ...itlMs.map((passed) => (ms += passed))];
  return { atS, tokens, pieces, seen: { arrivedMs, promptTokens, tokensMs } };
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
