// A GPU as a policy with a ladder knows it, for tests: requests arrive at random, and a burst lasts as long as the
// rules in force make it. Time is virtual, randomness is seeded.
import { millis, mulberry32, type Random } from "#core";
import {
  type Memory,
  type MeteredHigh,
  type Objective,
  type ObjectiveState,
  type Policy,
  policyNamed,
  type RequestSample,
} from "#policy";
import { bucketCount, bucketOf, type Rules } from "#protocol";

const LOOK_MS = 250;
const slo = policyNamed("slo");

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
  readonly colocated?: (seconds: number) => boolean;
}

export interface Moment {
  readonly seconds: number;
  readonly level: number;
  readonly paused: boolean;
  readonly state: ObjectiveState | undefined;
  /** Number of bursts that ended here; above by their waits where these are reported. */
  readonly bursts: number;
  readonly above: number;
}

const turns = { policy: slo, isolated: true };

/** The outcome, sample by sample. `limitUs`: longer bursts count as above. */
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
    let colocated = false;
    const high = plants.map(({ objective, perS, burstUs, colocated: there = () => true }, i) => {
      colocated ||= there(at) && !paused;
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
    memory = policy.remember?.({ isolated, high, nowMs: millis(at * 1000), colocated }, memory);
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

/** Counts of bursts by duration. */
type Bursts = readonly (readonly [us: number, count: number])[];

export interface Service {
  readonly id?: string;
  readonly objective: Partial<Objective> | undefined;
  /** Bursts that ended in a sample. */
  readonly bursts: Bursts;
  /** Their waits for the GPU, where these are reported. */
  readonly waits?: Bursts;
  /** Requests that ended in a sample; undefined while the service does not report. */
  readonly requests?: RequestSample;
}

const counted = (bursts: Bursts): Uint32Array | undefined => {
  if (bursts.length === 0) return undefined;
  const counts = new Uint32Array(bucketCount);
  for (const [us, count] of bursts) counts[bucketOf(us * 1000)] = count;
  return counts;
};

/** Whether best-effort work ran, or nobody can tell; minimum progress runs in a pause, too. */
type Colocated = boolean | "unknown" | "progress";

/** A policy that is shown what a test says, with its memory kept. */
export class Watched {
  readonly policy: Policy;
  readonly isolated: boolean;
  memory: Memory | undefined;
  nowMs = 0;
  /** Whose best-effort work it is, where that is told. */
  job: string | undefined;

  constructor(policy: Policy = slo, isolated = true) {
    this.policy = policy;
    this.isolated = isolated;
  }

  get level(): number {
    return this.memory?.level ?? 0;
  }
  get isPaused(): boolean {
    return this.memory?.pausedUntilMs !== undefined;
  }
  state(id = "one") {
    return this.memory?.clients.get(id)?.state;
  }

  look(services: readonly Service[], colocated: Colocated = true, everyMs = 250): number {
    this.nowMs += everyMs;
    const high = services.map(
      ({ id = "one", objective, bursts, waits, requests }): MeteredHigh => ({
        id,
        name: "serve",
        burstP50Us: bursts[0]?.[0],
        objective: objective && { p99Us: undefined, slowdown: undefined, ...objective },
        ended: counted(bursts),
        waited: waits && counted(waits),
        requests,
      }),
    );
    const { isolated, nowMs, isPaused, job } = this;
    const ran =
      colocated === "unknown" ? undefined : colocated === "progress" || (colocated && !isPaused);
    const told = job !== undefined && { jobs: ran ? [job] : [] };
    this.memory = this.policy.remember?.(
      { isolated, nowMs: millis(nowMs), high, colocated: ran, ...told },
      this.memory,
    );
    return this.level;
  }

  /** The levels after this many looks each. */
  looks(count: number, ...rest: Parameters<Watched["look"]>): number[] {
    return Array.from({ length: count }, () => this.look(...rest));
  }

  /** Seconds until the level is this one, of 4,000 looks at most. */
  until(level: number, ...rest: Parameters<Watched["look"]>): number {
    const from = this.nowMs;
    for (let look = 0; look < 4000 && this.look(...rest) !== level; look++);
    return this.level === level ? (this.nowMs - from) / 1000 : Number.NaN;
  }
}
