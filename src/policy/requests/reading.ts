// Which part of an engine's time best-effort work makes longer. It gets its share beside steps that make tokens, and hardly any beside
// those that read prompts. So first tokens, and in part whole requests, take less longer than steps do (docs/design/decisions/0016).
import { bucketMiddle } from "#protocol";
import type { RequestKind } from "./requests.ts";

/** Sums over bursts in which prompts are read; times in us, as they would be without best-effort work. */
export interface Reading {
  readonly bursts: number;
  readonly us: number;
  /** The part of `us` that best-effort work makes longer. */
  readonly slowedUs: number;
  /** Of all bursts meanwhile. */
  readonly allUs: number;
}

export const noReading: Reading = { bursts: 0, us: 0, slowedUs: 0, allUs: 0 };

/** Of bursts in which prompts are read. */
export interface Reads {
  /** They are longer than this; 0: not known. */
  readonly fromUs: number;
  /** So long best-effort work goes on beside one. */
  readonly besideUs: number;
}

/** So many bursts tell, and half is forgotten after four times as many. */
const SOME_BURSTS = 10;

/** `ended`: bursts since the last look, by bucket of duration. `stretch`: by which factor best-effort work makes steps longer. */
export function withReading(
  was: Reading,
  ended: Uint32Array | undefined,
  reads: Reads | undefined,
  stretch: number,
): Reading {
  if (!ended || !reads || reads.fromUs === 0) return was;
  const { fromUs, besideUs } = reads;
  let { bursts, us, slowedUs, allUs } = was;
  // In a plain loop, because most of the thousands of buckets are empty.
  for (let bucket = 0; bucket < ended.length; bucket++) {
    const count = ended[bucket] ?? 0;
    const lastedUs = count > 0 ? bucketMiddle(bucket) : 0;
    if (lastedUs <= fromUs) {
      allUs += (count * lastedUs) / stretch;
      continue;
    }
    const aloneUs = lastedUs - besideUs + besideUs / stretch;
    bursts += count;
    us += count * aloneUs;
    slowedUs += (count * besideUs) / stretch;
    allUs += count * aloneUs;
  }
  const keep = bursts > 4 * SOME_BURSTS ? 0.5 : 1;
  return { bursts: keep * bursts, us: keep * us, slowedUs: keep * slowedUs, allUs: keep * allUs };
}

/** The part of the time of requests, which is one of steps of all kinds, that best-effort work makes longer. */
export const slowedLife = ({ bursts, us, slowedUs, allUs }: Reading): number =>
  bursts >= SOME_BURSTS ? Math.max(LEAST_SLOWED, 1 - (us - slowedUs) / allUs) : 1;
const LEAST_SLOWED = 0.5;

/**
 * The part of the time after its first step that best-effort work makes longer. A first token is waited for in bursts in which
 * prompts are read, which are slowed in their begin only.
 */
export const slowedPart = (reading: Reading, kind: RequestKind): number => {
  if (kind === "tpot" || kind === "e2e") return slowedLife(reading);
  return kind === "ttft" && reading.bursts >= SOME_BURSTS ? reading.slowedUs / reading.us : 1;
};

interface Slowed {
  readonly stretch: number;
  readonly part: number;
}

/** What takes so many steps beside best-effort work would take so many without. */
export const unslowed = (steps: number, { stretch, part }: Slowed): number =>
  steps < stretch
    ? steps / stretch
    : (steps - (stretch - 1) * (1 - part)) / (1 + (stretch - 1) * part);

/** Of what takes `steps` steps: the part that best-effort work makes longer. The first step of a first token is any one. */
export function slowedOf(reading: Reading, kind: RequestKind, steps: number): number {
  const part = slowedPart(reading, kind);
  return kind === "ttft" && steps > 1 ? (1 + (steps - 1) * part) / steps : part;
}

/** So much longer may steps get until what takes `used` of its limit without, and of which steps make `slowed` longer, reaches it. */
export function mostStretch(used: number, slowed: number): number {
  return used >= 1 ? 1 / used : 1 + (1 / used - 1) / slowed;
}
