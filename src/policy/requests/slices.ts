// Slices: how best-effort work gets a share of the time beside the requests of an engine.
import { us } from "#core";

/** How long best-effort work goes on at a time: as long as a time slice of the driver, which costs two changes of contexts. */
export const SLICE_US = { isolated: us(2000), mps: us(400) } as const;

/** The rules that give best-effort work a share of the time during requests. */
export function timeShare(share: number, isolated: boolean) {
  const coRunSliceUs = isolated ? SLICE_US.isolated : SLICE_US.mps;
  return { coRunSliceUs, coRunEveryUs: us(Math.round(coRunSliceUs / share)) };
}
