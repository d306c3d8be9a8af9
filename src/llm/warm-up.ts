// Requests before the run, so that its first figures are not the time in which an engine compiles kernels and captures graphs. They
// are like those of the run, with prompts of their own, and all of them end before the run begins.
import { usage } from "#core";
import type { Plan } from "./plan.ts";
import type { PlannedRequest } from "./planned-request.ts";
import { type Playing, play } from "./play.ts";

/** A number of requests, or seconds of requests one after the other. */
export type WarmUpLength = { readonly requests: number } | { readonly seconds: number };

export interface WarmUpFigures {
  readonly requests: number;
  readonly failed: number;
  readonly seconds: number;
}

/** At a time, where the run does not say how many: an engine meets batches of several sizes. */
const DEPTH = 8;
/** Numbers of requests in a run are below it, so no prompt of the warm-up is one of the run. */
const FIRST_INDEX = 2 ** 31;
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

/**
 * Sends the warm-up in a closed loop and waits for all answers. `plan`: of the run; one that was made for this alone, because a closed
 * loop's lengths are drawn from it.
 */
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
