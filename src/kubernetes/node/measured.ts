import type { GpuStatus, Status } from "#agent";
import type { Api } from "../api/client.ts";
import type { MeasuredPair } from "../labels/pair.ts";
import type { PreparedClaim } from "./claims.ts";
import { PairSums, rounded, sampleOf } from "./pair-sums.ts";

const FIRST_MS = 60_000;
const AGAIN_MS = 600_000;
/** Unchanged figures are written too, for the seconds in them. */
const UNCHANGED_MS = 3_600_000;
/** A mean of fewer windows says little. */
const MIN_WINDOWS = 20;
/** Such a slowdown is written after MIN_WINDOWS, because each second of it does harm. */
const HARMFUL_SLOWDOWN = 2;
/** A smaller change is not worth a write. */
const MIN_CHANGE = 0.05;

export interface Measured {
  readonly retained: number;
  /** 1 means none; undefined: the service's bursts alone are not known. */
  readonly slowdown: number | undefined;
}

export type Setting = Pick<Status["agent"], "policy" | "mode">;

export interface DuePair extends Measured {
  readonly pair: MeasuredPair;
}

interface Windows {
  readonly since: number;
  readonly sums: PairSums;
  slowdowns: number;
  slowdown: number;
}

export class Measuring {
  readonly #windows = new Map<string, Windows>();
  readonly #pairs = new Map<string, PairSums>();
  readonly #written = new Map<string, { readonly what: DuePair; readonly at: number }>();
  readonly #sharers = new Map<string, string>();

  /** Returns what is to be written, by claim. `now` in ms. */
  look(
    claims: readonly PreparedClaim[],
    gpus: readonly GpuStatus[],
    setting: Setting,
    now: number,
  ): ReadonlyMap<PreparedClaim, DuePair> {
    const due = new Map<PreparedClaim, DuePair>();
    this.#restart(claims);
    for (const claim of claims) {
      const seen = pairOf(claim, gpus);
      const gpu = gpus.find(({ uuid }) => uuid === claim.gpu);
      const own = gpu && clientOf(claim, gpu);
      if (!seen || !gpu || !own) continue;
      const sample = sampleOf(own, gpu, seen.retained);
      const pair = this.#pairs.get(claim.uid) ?? new PairSums();
      this.#pairs.set(claim.uid, pair);
      pair.add(sample, now);
      const window = this.#windows.get(claim.uid) ?? emptyAt(now);
      this.#windows.set(claim.uid, window);
      window.sums.add(sample, now);
      if (seen.slowdown !== undefined) {
        window.slowdowns++;
        window.slowdown += seen.slowdown;
      }
      const before = this.#written.get(claim.uid);
      if (window.sums.count < MIN_WINDOWS) continue;
      const isUrgent = !before && (meanOf(window).slowdown ?? 1) >= HARMFUL_SLOWDOWN;
      const isEarly = now - window.since < (before ? AGAIN_MS : FIRST_MS);
      if (isEarly && !isUrgent) continue;
      const next = emptyAt(now);
      next.sums.add(sample, now);
      this.#windows.set(claim.uid, next);
      const mean: DuePair = {
        ...meanOf(window),
        pair: {
          ...{ ...pair.figures(), policy: setting.policy, mode: setting.mode, model: gpu.name },
          others: claims.filter((other) => other.gpu === claim.gpu).length - 1,
        },
      };
      if (before && now - before.at < UNCHANGED_MS && !differs(before.what, mean)) continue;
      due.set(claim, mean);
    }
    const there = new Set(claims.map(({ uid }) => uid));
    for (const known of [this.#windows, this.#pairs, this.#written, this.#sharers])
      for (const uid of known.keys()) if (!there.has(uid)) known.delete(uid);
    return due;
  }

  /** A pod that comes or goes changes what the others retain: the next mean is a first one. */
  #restart(claims: readonly PreparedClaim[]): void {
    for (const { uid, gpu } of claims) {
      const sharers = claims.filter((other) => other.gpu === gpu).map((other) => other.uid);
      const key = sharers.sort().join();
      if ((this.#sharers.get(uid) ?? key) !== key) {
        this.#windows.delete(uid);
        this.#pairs.delete(uid);
        this.#written.delete(uid);
      }
      this.#sharers.set(uid, key);
    }
  }

  /** Rejects on a refusal, or without a Pairing; then it is written after the next window. */
  async write(api: Api, { uid, namespace, name }: PreparedClaim, what: DuePair, now: number) {
    // The Pairing has the name of its claim.
    const path = `/apis/cotenant.io/v1alpha1/namespaces/${namespace}/pairings/${name}/status`;
    const { retained, slowdown, pair } = what;
    const measured = {
      retained,
      ...(slowdown !== undefined && { slowdown }),
      at: new Date(now).toISOString(),
      // A merge leaves what is not named: figures of a former pair.
      pair: { perS: null, soloPerS: null, soloBusy: null, service: null, ...pair },
    };
    await api.mergePlain(path, { status: { measured } });
    this.#written.set(uid, { what, at: now });
  }
}

const emptyAt = (since: number): Windows => ({
  since,
  ...{ sums: new PairSums(), slowdowns: 0, slowdown: 0 },
});

const clientOf = ({ podUid }: PreparedClaim, { bestEffort }: GpuStatus) =>
  bestEffort.find(({ identity }) => identity?.pod === podUid);

/** undefined while nothing can be measured, or the pod is held for another reason. */
export function pairOf(claim: PreparedClaim, gpus: readonly GpuStatus[]): Measured | undefined {
  const gpu = gpus.find(({ uuid }) => uuid === claim.gpu);
  const own = gpu && clientOf(claim, gpu);
  if (own?.keptShare === undefined || own.memory?.state === "parked") return undefined;
  if (gpu?.high.length === 0 || gpu?.heldBecause !== undefined) return undefined;
  const slowdowns = gpu?.high.flatMap(({ slowdown }) => slowdown ?? []) ?? [];
  return {
    retained: own.keptShare,
    slowdown: slowdowns.length > 0 ? 1 + Math.max(0, ...slowdowns) : undefined,
  };
}

const meanOf = ({ sums, slowdowns, slowdown }: Windows): Measured => ({
  retained: sums.figures().retained,
  slowdown: slowdowns > 0 ? rounded(slowdown / slowdowns) : undefined,
});

const differs = (one: DuePair, other: DuePair): boolean =>
  Math.abs(one.retained - other.retained) >= MIN_CHANGE ||
  Math.abs((one.slowdown ?? 0) - (other.slowdown ?? 0)) >= MIN_CHANGE ||
  one.pair.by !== other.pair.by;
