import { addedTo, type Read } from "#client";

/** It ends at Ctrl-C, or when the reader stops. */
export function addedUntilInterrupted(path: string, { place }: Read): AsyncGenerator<Buffer> {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  process.stdout.once("error", () => stop.abort());
  return addedTo(path, place, stop.signal);
}
