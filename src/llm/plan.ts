// A plan is fixed before the first request, as a pure function of options and seed.
import { sfc32, usage } from "#core";
import { type Arrivals, scheduleArrivals } from "#load";
import { drawLengths, type Lengths } from "./lengths.ts";
import type { PlannedRequest } from "./planned-request.ts";
import { type LlmTrace, readLlmTrace } from "./trace.ts";

export interface PlanOptions {
  readonly traffic:
    | { readonly arrivals: Arrivals; readonly prompt: Lengths; readonly output: Lengths }
    | { readonly trace: LlmTrace };
  readonly omit: number; // seconds at the start that do not count
  readonly seconds: number | undefined; // undefined: 60, or as long as a file lasts
  readonly maxPrompt: number | undefined;
  readonly maxOutput: number | undefined;
  readonly seed: number;
}

interface Common {
  readonly omit: number; // seconds at the start that do not count
  readonly seconds: number;
}
/** A closed loop sends the next request as soon as one is done. */
export type Plan =
  | (Common & { readonly requests: readonly PlannedRequest[] })
  | (Common & {
      readonly next: () => PlannedRequest;
      readonly maxRequests?: number;
    });

const SECONDS = 60;
const MAX_REQUESTS = 1_000_000; // they are kept in memory with the times of all tokens
/** Each has a generator of its own, so that another rate does not change the lengths. */
const streams = { arrivals: 1, prompt: 2, output: 3 };

export function planOf(options: PlanOptions, readText: (path: string) => string): Plan {
  const { traffic, omit, maxPrompt, maxOutput } = options;
  const until = options.seconds === undefined ? undefined : omit + options.seconds;
  if ("trace" in traffic) {
    const { requests, seconds } = readLlmTrace(readText(traffic.trace.path), traffic.trace);
    const shortened = requests.map(({ offset, prompt, output }) => ({
      offset,
      prompt: Math.min(prompt, maxPrompt ?? prompt),
      output: Math.min(output, maxOutput ?? output),
    }));
    return openLoop(shortened, Math.min(seconds, until ?? seconds), omit);
  }
  const random = (stream: keyof typeof streams) => sfc32(options.seed * 2 ** 32 + streams[stream]);
  const prompt = drawLengths(traffic.prompt, random("prompt"), maxPrompt);
  const output = drawLengths(traffic.output, random("output"), maxOutput);
  const next = (offset = 0) => ({ offset, prompt: prompt(), output: output() });
  const { arrivals } = traffic;
  if (arrivals.kind === "closed") return { next, omit, seconds: options.seconds ?? SECONDS };
  const length = until ?? omit + SECONDS;
  if ("rate" in arrivals && arrivals.rate * length > MAX_REQUESTS) throw tooMany();
  const { offsets, seconds } = scheduleArrivals(arrivals, length, random("arrivals"), readText);
  return openLoop(offsets.map(next), Math.min(seconds, until ?? seconds), omit);
}

const MAX_UNEVENNESS = 2; // a message names what is beyond this factor

/** A trace is stretched to a rate as a whole; the part that is sent may have another. */
export function unevenness(
  plan: Plan,
  { trace, rate }: { readonly trace?: string | undefined; readonly rate?: number | undefined },
): string | undefined {
  if (trace === undefined || rate === undefined || !("requests" in plan)) return undefined;
  const seconds = plan.omit + plan.seconds;
  const here = plan.requests.length / seconds;
  const factor = here / rate;
  if (factor <= MAX_UNEVENNESS && factor >= 1 / MAX_UNEVENNESS) return undefined;
  return `${trace} is uneven: the ${seconds.toFixed(0)} s that are sent hold ${plan.requests.length} requests, ${here.toPrecision(2)} a second, although the whole trace has ${rate} in the mean. --from and --seconds choose another part.`;
}

function openLoop(all: readonly PlannedRequest[], whole: number, omit: number): Plan {
  // The last row of a file is at its end.
  const requests = all.filter(({ offset }) => offset <= whole * 1e9);
  if (requests.length > MAX_REQUESTS) throw tooMany();
  if (!requests.some(({ offset }) => offset >= omit * 1e9))
    throw usage(
      `No request arrives after the first ${omit} s, which are omitted.`,
      "Give a smaller --omit, more --seconds or a higher --rate.",
    );
  return { requests, omit, seconds: whole - omit };
}

const tooMany = () =>
  usage(
    `These are more than ${MAX_REQUESTS / 1e6} million requests.`,
    "Give a smaller --rate, or fewer --seconds.",
  );
