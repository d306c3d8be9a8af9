// TGS (NSDI'23), the baseline that Tally beats: the rate at which the high job launches drives a limit on the
// rate of best-effort launches, as congestion control would. Nothing is held back while a request is active. Its
// constants are those of its published code; which of them a paper gives is not said there. Periods are ours:
// a sample, and the rate of the last second.

import { nanos } from "#core";
import { type Look, launchByLaunch, type Memory, type Policy } from "#policy";
import { whenActive } from "#protocol";

/** Losses of the high job's rate, as parts of its highest. */
const LOSS = { fine: 0.03, heavy: 0.09, lasting: 0.12 } as const;
const FACTOR = { slowStart: 1.5, backOff: 0.92, heavy: 0.1 } as const;
/** A loss that lasts for so many periods is no interference: the highest rate is halved. */
const LASTING_PERIODS = 20;
/** Launches a second; these four are not stated. */
const RATE = { first: 1000, step: 20, least: 100, most: 1_000_000 } as const;
const RATE_OVER_MS = 1000;

interface RateMemory extends Memory {
  readonly ratePerS: number;
  /** The high jobs' highest rate so far. */
  readonly bestPerS: number;
  readonly slowStart: boolean;
  readonly poorPeriods: number;
  readonly recent: readonly { readonly atMs: number; readonly launches: number }[];
}

const nothing: RateMemory = {
  level: 0,
  pausedUntilMs: undefined,
  clients: new Map(),
  ratePerS: RATE.first,
  bestPerS: 0,
  slowStart: true,
  poorPeriods: 0,
  recent: [],
};

export const tgs: Policy = {
  name: "tgs",
  summary: "a limit on best-effort launches a second, driven by the high job's rate of launches",
  rules: (seen, memory: RateMemory = nothing) =>
    launchByLaunch(seen, {
      whenActive: whenActive.allow,
      launchEveryNs: nanos(Math.round(1e9 / memory.ratePerS)),
    }),
  learnsFrom: "trainings",
  remember: controlled,
};

function controlled({ high, nowMs }: Look, was: RateMemory = nothing): RateMemory {
  const launches = high.reduce((sum, one) => sum + (one.launches ?? 0), 0);
  const recent = [
    ...was.recent.filter(({ atMs }) => nowMs - atMs <= RATE_OVER_MS),
    { atMs: nowMs, launches },
  ];
  const [oldest, ...since] = recent;
  const ms = nowMs - (oldest?.atMs ?? nowMs);
  if (ms < RATE_OVER_MS / 2) return { ...was, recent };
  const perS = (1000 * since.reduce((sum, one) => sum + one.launches, 0)) / ms;
  const bestPerS = Math.max(was.bestPerS, perS);
  const loss = bestPerS === 0 ? 0 : 1 - perS / bestPerS;
  const poorPeriods = loss >= LOSS.lasting ? was.poorPeriods + 1 : 0;
  const lasting = poorPeriods >= LASTING_PERIODS;
  return {
    ...was,
    recent,
    ratePerS: limited(nextRate(was, loss)),
    bestPerS: lasting ? bestPerS / 2 : bestPerS,
    slowStart: was.slowStart && loss < LOSS.fine,
    poorPeriods: lasting ? 0 : poorPeriods,
  };
}

function nextRate({ ratePerS, slowStart }: RateMemory, loss: number): number {
  if (loss >= LOSS.heavy) return ratePerS * FACTOR.heavy;
  if (loss >= LOSS.fine) return ratePerS * FACTOR.backOff;
  return slowStart ? ratePerS * FACTOR.slowStart : ratePerS + RATE.step;
}

const limited = (perS: number): number => Math.min(RATE.most, Math.max(RATE.least, perS));
