// The build of the native parts that the tests run: the usual one, or, in `npm run sanitize`, one with a sanitizer.
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

type Sanitizer = "thread" | "address";
export const sanitizer = process.env.COTENANT_SANITIZE as Sanitizer | undefined;
export const native = resolve("build", sanitizer ?? "native");

const runtime = () => {
  const name = sanitizer === "thread" ? "libtsan.so" : "libasan.so";
  return execFileSync("g++", [`-print-file-name=${name}`], { encoding: "utf8" }).trim();
};

/** The environment of programs of that build, with these libraries preloaded. */
export function environment(...preloaded: string[]): Record<string, string> {
  // A sanitizer's runtime must be loaded before what is built with it.
  const libraries = sanitizer && preloaded.length > 0 ? [runtime(), ...preloaded] : preloaded;
  return {
    PATH: process.env.PATH ?? "",
    LD_LIBRARY_PATH: `${native}/softgpu`,
    ...(libraries.length > 0 ? { LD_PRELOAD: libraries.join(":") } : {}),
    ...(sanitizer === "thread" ? { TSAN_OPTIONS: threadOptions } : {}),
    ...(sanitizer === "address" ? { ASAN_OPTIONS: addressOptions } : {}),
  };
}

const threadOptions = [
  `suppressions=${resolve("test/thread.supp")}`,
  "atexit_sleep_ms=0",
  // A child of a process with threads goes on, as it would without the sanitizer.
  "die_after_fork=0",
  // Programs that call exit in a signal's handler are among the tests.
  "report_signal_unsafe=0",
].join(":");

// State of GPUs, contexts and streams lives as long as the process; the tests end theirs without cleaning up.
const addressOptions = "detect_leaks=0";
