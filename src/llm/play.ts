import { setMaxListeners } from "node:events";
import { type BodyOptions, bodyOf } from "./body.ts";
import type { Plan } from "./plan.ts";
import type { PlannedRequest } from "./planned-request.ts";
import { type Answer, ask, STOPPED, type Target } from "./request.ts";

export interface Sent {
  readonly asked: PlannedRequest;
  readonly arrivedNs: number; // it was to be sent then, even if this program was late
  readonly sentNs: number;
  readonly answer: Answer;
}

export interface Playing {
  readonly target: Target;
  readonly body: BodyOptions;
  readonly firstIndex?: number; // its prompts follow from it
  readonly depth: number;
  readonly now: () => number;
  readonly stop: AbortSignal;
  readonly tell: (sent: number, done: number) => void;
}

/** `beginNs`: when the run began. Requests that were stopped are left out. */
export async function play(
  plan: Plan,
  playing: Playing,
): Promise<{ readonly sent: readonly Sent[]; readonly beginNs: number }> {
  const { target, body, depth, now, stop, firstIndex = 0 } = playing;
  setMaxListeners(0, stop); // each request listens
  const beginNs = now();
  const sent: Sent[] = [];
  let count = 0;
  let done = 0;
  const send = async (asked: PlannedRequest, index: number, text: string, arrivedNs?: number) => {
    const sentNs = now();
    playing.tell(++count, done);
    const answer = await ask(target, text, now, stop);
    playing.tell(count, ++done);
    sent[index] = { asked, arrivedNs: arrivedNs ?? sentNs, sentNs, answer };
    return answer;
  };
  if ("requests" in plan) {
    const running: Promise<Answer>[] = [];
    for (const [index, asked] of plan.requests.entries()) {
      const text = bodyOf(asked, firstIndex + index, body); // before the request arrives, so that it is not late for this
      if (!(await until(beginNs + asked.offset, now, stop))) break;
      running.push(send(asked, index, text, beginNs + asked.offset));
    }
    await Promise.all(running);
  } else {
    const endNs = beginNs + (plan.omit + plan.seconds) * 1e9;
    const { maxRequests = Number.POSITIVE_INFINITY } = plan;
    let index = 0;
    const lane = async () => {
      while (now() < endNs && index < maxRequests && !stop.aborted) {
        const asked = plan.next();
        const answer = await send(asked, index, bodyOf(asked, firstIndex + index++, body));
        if (answer.failed) await until(now() + PAUSE_NS, now, stop);
      }
    };
    await Promise.all(Array.from({ length: depth }, lane));
  }
  return { sent: sent.filter(({ answer }) => answer.failed?.why !== STOPPED), beginNs };
}

/** A server that refuses at once must not be asked without end. */
const PAUSE_NS = 100e6;

/** A timer of Node fires up to a millisecond late, so a wait ends with turns of the event loop. */
const TIMER_NS = 2e6;

async function until(ns: number, now: () => number, stop: AbortSignal): Promise<boolean> {
  for (let left = ns - now(); left > 0 && !stop.aborted; left = ns - now())
    await new Promise<void>((resolve) => {
      if (left <= TIMER_NS) return setImmediate(resolve);
      const timer = setTimeout(end, Math.min((left - TIMER_NS) / 1e6, LONGEST_TIMER_MS));
      stop.addEventListener("abort", end, { once: true });
      function end() {
        clearTimeout(timer);
        stop.removeEventListener("abort", end);
        resolve();
      }
      return undefined;
    });
  return !stop.aborted;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;
