// MuxFlow's launch control (arXiv 2303.13803, section 4.1, equations 1 and 2) is a PID controller
// of the load. In mode mps kernels must fit the forecast share of SMs (section 4.3). The paper
// prints no parameters ("empirically selected through trial-and-error"): those here are ours.
import { nanos, us } from "#core";
import { type Rules, whenActive } from "#protocol";
import type { GpuUse, Look, Memory, Observed, Policy } from "../contract/policy.ts";
import { smLimitFor } from "../parameters/bound.ts";
import { launchByLaunch, UNLIMITED } from "../parameters/launching.ts";
import { strict } from "../parameters/strict.ts";

// Equation 2: T_SM as a part of the highest clock, and the two slopes; a_L is much larger than a_H.
const CLOCK = { threshold: 0.9, low: 10, high: 0.1 } as const;
const TARGET = 0.9;
const PID = { p: 0.8, i: 0.8, d: 0.1 } as const; // the unit is powers of two of the rate
const STEP = 2; // the unit is powers of two of the rate
const RATE = { first: 1_000, least: 100, most: 1_000_000 } as const; // launches a second
const KNOWN_MS = 2_000;

interface LoadMemory extends Memory {
  readonly ratePerS: number;
  readonly errors: readonly [number, number]; // the newest first
  readonly knownAtMs: number | undefined;
  readonly isKnown: boolean;
  readonly smShare: number | undefined;
}

const nothing: LoadMemory = {
  level: 0,
  pausedUntilMs: undefined,
  clients: new Map(),
  ratePerS: RATE.first,
  errors: [0, 0],
  knownAtMs: undefined,
  isKnown: false,
  smShare: undefined,
};

export const muxflow: Policy = {
  name: "muxflow",
  summary: "a limit on best-effort launches a second, driven by SM activity and SM clock",
  // Without readings, no load is not taken for a low one.
  rules: (seen, memory: LoadMemory = nothing) =>
    memory.isKnown
      ? launchByLaunch(seen, {
          ...beside(seen, memory.smShare),
          launchEveryNs: nanos(Math.round(1e9 / memory.ratePerS)),
        })
      : strict.rules(seen),
  remember: controlled,
};

/** Contexts that take turns have all SMs, so a share of them means nothing there. */
function beside({ isolated, smCount }: Observed, smShare: number | undefined): Partial<Rules> {
  if (isolated || smCount === undefined || smShare === undefined)
    return { whenActive: whenActive.allow };
  return {
    whenActive: whenActive.allowShort,
    smLimit: smLimitFor(smShare, smCount),
    maxKernelUs: us(UNLIMITED),
  };
}

/** 0 is idle, 1 all SMs busy at the threshold's clock; more where the clock is lower. */
export function gpuLoad({ smActivity, smClockMHz, mostSmClockMHz }: GpuUse): number {
  const threshold = CLOCK.threshold * mostSmClockMHz;
  const factor =
    smClockMHz < threshold
      ? 1 + (CLOCK.low * (threshold - smClockMHz)) / threshold
      : 1 - (CLOCK.high * (smClockMHz - threshold)) / (mostSmClockMHz - threshold);
  return smActivity * factor;
}

function controlled({ gpu, nowMs, smShare }: Look, was: LoadMemory = nothing): LoadMemory {
  if (!gpu) {
    const isKnown = was.knownAtMs !== undefined && nowMs - was.knownAtMs <= KNOWN_MS;
    return isKnown ? { ...was, smShare } : nothing;
  }
  const error = TARGET - gpuLoad(gpu);
  const [last, before] = was.isKnown ? was.errors : [error, error];
  const change = PID.p * (error - last) + PID.i * error + PID.d * (error - 2 * last + before);
  const step = Math.min(STEP, Math.max(-STEP, change));
  return {
    ...was,
    ratePerS: Math.min(RATE.most, Math.max(RATE.least, was.ratePerS * 2 ** step)),
    errors: [error, last],
    knownAtMs: nowMs,
    isKnown: true,
    smShare,
  };
}
