import { us } from "#core";

/** A time slice of the driver costs two changes of contexts. */
export const SLICE_US = { isolated: us(2000), mps: us(400) } as const;

export function timeShare(share: number, isolated: boolean) {
  const coRunSliceUs = isolated ? SLICE_US.isolated : SLICE_US.mps;
  return { coRunSliceUs, coRunEveryUs: us(Math.round(coRunSliceUs / share)) };
}
