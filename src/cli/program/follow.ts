// A log that is printed as it grows.
import { addedTo, type Read } from "#client";

/** Yields what is added after the place, until Ctrl-C, or until the reader stops. */
export function addedUntilInterrupted(path: string, { place }: Read): AsyncGenerator<Buffer> {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  process.stdout.once("error", () => stop.abort());
  return addedTo(path, place, stop.signal);
}
