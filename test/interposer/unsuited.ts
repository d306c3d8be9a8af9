// Programs and cases that do not run under a sanitizer, each with the reason.
import { sanitizer } from "../native.ts";

const slow = "it counts on launches that take microseconds; instrumented ones take tens of them";
const replaces =
  "it replaces functions of the C library to see who calls them, as a sanitizer's runtime does";
const reasons = {
  thread: {
    launch_path: replaces,
    "the launching thread runs ahead while the GPU is held": slow,
    "a long pause becomes a trickle": slow,
    "a whole that was disturbed is timed anew": slow,
  },
  address: { launch_path: replaces },
} as const satisfies Record<string, Record<string, string>>;

/** Why this program or case does not run in this run; undefined: it does. */
export function unsuited(name: string): string | undefined {
  return sanitizer && new Map<string, string>(Object.entries(reasons[sanitizer])).get(name);
}
