// A run's first figures should not be the time in which an engine compiles kernels and captures
// graphs. Warm-up requests have prompts of their own, and end before the run.
import { usage } from "#core";
import type { Plan } from "./plan.ts";
import type { PlannedRequest } from "./planned-request.ts";
import { type Playing, play } from "./play.ts";

export type WarmUpLength = { readonly requests: number } | { readonly seconds: number };

export interface WarmUpFigures {
  readonly requests: number;
  readonly failed: number;
  readonly seconds: number;
}

const DEPTH = 8; // an engine meets batches of several sizes
const FIRST_INDEX = 2 ** 31; // no number in a run is as high, so no prompt comes twice
const MAX_REQUESTS = 1_000_000;

/** "16" requests or "20s". Throws a UserError. */
export function parseWarmUp(text: string): WarmUpLength {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(s?)$/.exec(text.trim()) ?? [];
  const n = Number(amount);
  if (unit === "s" && n <= 86_400) return { seconds: n };
  if (unit === "" && Number.isInteger(n) && n <= MAX_REQUESTS) return { requests: n };
  throw usage(
    `--warm-up ${text} is neither a number of requests nor a time in seconds.`,
    "Write a whole number such as 16, a time such as 20s, or 0 for none.",
  );
}

/** `plan` is made for this alone, because a closed loop's lengths are drawn from it. */
export async function warmUp(
  length: WarmUpLength,
  plan: Plan,
  playing: Omit<Playing, "firstIndex">,
): Promise<WarmUpFigures> {
  const { now } = playing;
  const isClosed = "next" in plan;
  const { sent, beginNs } = await play(
    {
      omit: 0,
      next: isClosed ? plan.next : inTurn(plan.requests),
      ...("requests" in length
        ? { seconds: Number.POSITIVE_INFINITY, maxRequests: length.requests }
        : { seconds: length.seconds }),
    },
    { ...playing, depth: isClosed ? playing.depth : DEPTH, firstIndex: FIRST_INDEX },
  );
  return {
    requests: sent.length,
    failed: sent.filter(({ answer }) => answer.failed).length,
    seconds: (now() - beginNs) / 1e9,
  };
}

function inTurn(requests: readonly PlannedRequest[]): () => PlannedRequest {
  let index = 0;
  return () => requests[index++ % requests.length] ?? { offset: 0, prompt: 1, output: 1 };
}
