// Programs and cases that do not run under a sanitizer, each with the reason.
import { sanitizer } from "../native.ts";

const slow = "it counts on launches that take microseconds; instrumented ones take tens of them";
const past = "a sanitizer ends a program that loads a library with RTLD_DEEPBIND";
const alias = "what orders it is a word that the GPU knows by another address";
const replaces =
  "it replaces functions of the C library to see who calls them, as a sanitizer's runtime does";
const signals =
  "ThreadSanitizer keeps a signal back until the next call that it intercepts, and loses one in a thousand";
const reasons = {
  thread: {
    "best_effort/launch_path": replaces,
    "best_effort/phases": slow,
    "drivers/tools": replaces,
    "a library that is loaded past us is named once": past,
    "a batch waits while a request goes on": alias,
    "the file is written on SIGTERM": signals,
    "the file is written on SIGINT": signals,
    "a request stops a graph between its parts": slow,
    "the launching thread runs ahead while the GPU is held": slow,
    "a long pause becomes minimum progress": slow,
    "a whole that was disturbed is timed anew": slow,
  },
  address: {
    "best_effort/launch_path": replaces,
    "best_effort/phases": slow,
    "drivers/tools": replaces,
    "a library that is loaded past us is named once": past,
    "the launching thread runs ahead while the GPU is held": slow,
  },
} as const satisfies Record<string, Record<string, string>>;

/** Why this program or case does not run in this run; undefined: it does. */
export function unsuited(name: string): string | undefined {
  return sanitizer && new Map<string, string>(Object.entries(reasons[sanitizer])).get(name);
}
