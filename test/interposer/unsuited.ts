// Cases that do not run under a sanitizer, each with the reason.
import { sanitizer } from "../native.ts";

const slow = "it counts on launches that take microseconds; instrumented ones take tens of them";
const reasons = {
  thread: {
    "the launching thread runs ahead while the GPU is held": slow,
    "a long pause becomes a trickle": slow,
    "a whole that was disturbed is timed anew": slow,
  },
  address: {},
} as const satisfies Record<string, Record<string, string>>;

/** Why this case does not run in this run; undefined: it does. */
export function unsuited(name: string): string | undefined {
  return sanitizer && new Map<string, string>(Object.entries(reasons[sanitizer])).get(name);
}
