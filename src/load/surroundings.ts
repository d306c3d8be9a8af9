import { setTimeout as after } from "node:timers/promises";
import { errors, readInput } from "#core";
import { loadCuda } from "./cuda.ts";
import type { Surroundings } from "./prepare.ts";

/** A signal stops the run. Times are since `origin`. */
export function surroundings(origin: bigint, say: (line: string) => void): Surroundings {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.abort());
  return {
    cuda: loadCuda(),
    clock: {
      now: () => Number(process.hrtime.bigint() - origin),
      sleep: (ms: number) => after(ms, undefined, { signal: stop.signal }).catch(() => undefined),
    },
    stop: stop.signal,
    readText,
    say,
  };
}

function readText(path: string): string {
  try {
    return readInput(path).toString();
  } catch (error) {
    throw errors.inputNotRead("arrivals file", path, error);
  }
}
