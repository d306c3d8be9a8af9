// A GPU as a policy with a ladder knows it, for tests: requests arrive at random, and a burst lasts as long as the
// rules in force make it. Time is virtual, chance is seeded.
import { mulberry32, type Random } from "#core";
import { bucketCount, bucketOf, type Rules } from "#protocol";
import type { Memory, Objective, ObjectiveState, Policy } from "./policy.ts";
import { slo } from "./slo.ts";

const LOOK_MS = 250;

export interface Burst {
  readonly lastedUs: number;
  readonly waitedUs: number;
}

export interface Plant {
  readonly objective: Partial<Objective> | undefined;
  readonly perS: (seconds: number) => number;
  /** How long a burst lasts, and waits where that is reported; `level` is -1 while it is alone. */
  readonly burstUs: (level: number, seconds: number, random: Random) => number | Burst;
  /** Best-effort work is there. */
  readonly company?: (seconds: number) => boolean;
}

export interface Moment {
  readonly seconds: number;
  readonly level: number;
  readonly paused: boolean;
  readonly state: ObjectiveState | undefined;
  /** Of the bursts that ended here; above by what they waited where that is reported. */
  readonly bursts: number;
  readonly above: number;
}

const turns = { policy: slo, isolated: true };

/** What came of it, look by look. `limitUs`: what counts as above. */
export function played(
  plants: readonly Plant[],
  seconds: number,
  limitUs: number,
  seed = 1,
  { policy, isolated }: { readonly policy: Policy; readonly isolated: boolean } = turns,
): readonly Moment[] {
  const random = mulberry32(seed);
  const moments: Moment[] = [];
  let memory: Memory | undefined;
  for (let at = 0; at < seconds; at += LOOK_MS / 1000) {
    const level = memory?.level ?? 0;
    const paused = memory?.pausedUntilMs !== undefined;
    let above = 0;
    let bursts = 0;
    let company = false;
    const high = plants.map(({ objective, perS, burstUs, company: there = () => true }, i) => {
      company ||= there(at) && !paused;
      const ended = new Uint32Array(bucketCount);
      let waited: Uint32Array | undefined;
      const arrived = poisson((perS(at) * LOOK_MS) / 1000, random);
      for (let n = 0; n < arrived; n++) {
        const burst = burstUs(there(at) && !paused ? level : -1, at, random);
        const { lastedUs, waitedUs } =
          typeof burst === "number" ? { lastedUs: burst, waitedUs: undefined } : burst;
        count(ended, lastedUs);
        if (waitedUs !== undefined) {
          waited ??= new Uint32Array(bucketCount);
          count(waited, waitedUs);
        }
        if ((waitedUs ?? lastedUs) > limitUs) above++;
      }
      bursts += arrived;
      return {
        id: String(i),
        name: "high",
        burstP50Us: 2000,
        objective: objective && { p99Us: undefined, slowdown: undefined, ...objective },
        ended: arrived > 0 ? ended : undefined,
        waited,
      };
    });
    memory = policy.remember?.({ isolated, high, nowMs: at * 1000, company }, memory);
    const state = memory?.clients.get("0")?.state;
    moments.push({ seconds: at, level, paused, state, bursts, above });
  }
  return moments;
}

function count(counts: Uint32Array, us: number): void {
  const bucket = bucketOf(us * 1000);
  counts[bucket] = (counts[bucket] ?? 0) + 1;
}

export const rulesAt = (memory: Memory | undefined): Rules =>
  slo.rules({ isolated: true, high: [] }, memory);

export function shareAbove(moments: readonly Moment[]): number {
  const sum = (of: (moment: Moment) => number) =>
    moments.reduce((all, moment) => all + of(moment), 0);
  return (
    sum(({ above }) => above) /
    Math.max(
      1,
      sum(({ bursts }) => bursts),
    )
  );
}

/** Times it went down. */
export const falls = (moments: readonly Moment[]): number =>
  moments.filter(({ level }, i) => level < (moments[i - 1]?.level ?? 0)).length;

function poisson(mean: number, random: Random): number {
  const end = Math.exp(-mean);
  let n = 0;
  for (let p = random(); p > end; p *= random()) n++;
  return n;
}
