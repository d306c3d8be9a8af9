// A log that is printed as it grows.
import { addedTo, type Read } from "#client";

/** What is added behind the place, until Ctrl-C, or until whoever was reading has seen enough. */
export function addedUntilInterrupted(path: string, { place }: Read): AsyncGenerator<Buffer> {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  process.stdout.once("error", () => stop.abort());
  return addedTo(path, place, stop.signal);
}
