// Writes the agent's measurements of each pair into the status of its Pairing: the retained throughput of the
// best-effort pod, and how much slower the service is. The manager compares them with its predictions, and learns.
import type { GpuStatus, Status } from "#agent";
import type { Api } from "../api/client.ts";
import type { MeasuredPair } from "../labels/pair.ts";
import type { PreparedClaim } from "./claims.ts";
import { PairSums, rounded, sampleOf } from "./pair-sums.ts";

/** Averaging time of the first write, and of the next ones. */
const FIRST_MS = 60_000;
const AGAIN_MS = 600_000;
/** Figures that have not changed are written so rarely, for the seconds in them. */
const UNCHANGED_MS = 3_600_000;
/** A mean of fewer windows says little. */
const MIN_WINDOWS = 20;
/** A smaller change is not worth a write. */
const MIN_CHANGE = 0.05;

export interface Measured {
  readonly retained: number;
  /** 1 for none; undefined while the service's bursts alone are not known. */
  readonly slowdown: number | undefined;
}

/** Setting of an agent under which a pair was measured. */
export type Setting = Pick<Status["agent"], "policy" | "mode">;

/** Figures of a pair to be written: of its last window, and of the whole time since it began. */
export interface DuePair extends Measured {
  readonly pair: MeasuredPair;
}

/** The sum of the windows since `since`. */
interface Windows {
  readonly since: number;
  readonly sums: PairSums;
  slowdowns: number;
  slowdown: number;
}

export class Measuring {
  readonly #windows = new Map<string, Windows>();
  /** Sums since each pair began. */
  readonly #pairs = new Map<string, PairSums>();
  readonly #written = new Map<string, { readonly what: DuePair; readonly at: number }>();
  /** The claims of the same GPU, by claim. */
  readonly #sharers = new Map<string, string>();

  /** Takes one look at the pairs that run, and returns what is to be written, by claim. `now` in ms. */
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
      const isEarly = now - window.since < (before ? AGAIN_MS : FIRST_MS);
      if (isEarly || window.sums.count < MIN_WINDOWS) continue;
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

  /** A pod that comes or goes changes what the others retain, and how slow the service is: the next mean is a first one. */
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

  /** Rejects when the API server does not take it, or there is no Pairing yet; then it is written after the next window. */
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

/** The last window of a pair; undefined while there is nothing to be measured, or the pod is held for another reason. */
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
