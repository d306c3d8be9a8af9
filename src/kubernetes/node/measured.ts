// Writes the agent's measurements of each pair into the status of its Pairing: the retained throughput of the
// best-effort pod, and the slowdown of the service's bursts. The manager compares them with its predictions, and
// learns.
import type { GpuStatus } from "#agent";
import type { Api } from "../api/client.ts";
import type { PreparedClaim } from "./claims.ts";

/** Averaging time of the first write, and of the next ones. */
const FIRST_MS = 60_000;
const AGAIN_MS = 600_000;
/** A mean of fewer windows says little. */
const MIN_WINDOWS = 20;
/** A smaller change is not worth a write. */
const MIN_CHANGE = 0.05;

export interface Measured {
  readonly retained: number;
  /** 1 for none; undefined while the service's bursts alone are not known. */
  readonly slowdown: number | undefined;
}

/** The sum of the windows since `since`. */
interface Windows {
  readonly since: number;
  count: number;
  retained: number;
  slowdowns: number;
  slowdown: number;
}

export class Measuring {
  readonly #windows = new Map<string, Windows>();
  readonly #written = new Map<string, Measured>();
  /** The claims of the same GPU, by claim. */
  readonly #sharers = new Map<string, string>();

  /** Takes one look at the pairs that run, and returns what is to be written, by claim. `now` in ms. */
  look(
    claims: readonly PreparedClaim[],
    gpus: readonly GpuStatus[],
    now: number,
  ): ReadonlyMap<PreparedClaim, Measured> {
    const due = new Map<PreparedClaim, Measured>();
    this.#restart(claims);
    for (const claim of claims) {
      const seen = pairOf(claim, gpus);
      if (seen === undefined) continue;
      const sum = this.#windows.get(claim.uid) ?? emptyAt(now);
      this.#windows.set(claim.uid, sum);
      sum.count++;
      sum.retained += seen.retained;
      if (seen.slowdown !== undefined) {
        sum.slowdowns++;
        sum.slowdown += seen.slowdown;
      }
      const before = this.#written.get(claim.uid);
      if (now - sum.since < (before ? AGAIN_MS : FIRST_MS) || sum.count < MIN_WINDOWS) continue;
      this.#windows.set(claim.uid, emptyAt(now));
      const mean = meanOf(sum);
      if (before && !differs(before, mean)) continue;
      due.set(claim, mean);
    }
    const there = new Set(claims.map(({ uid }) => uid));
    for (const known of [this.#windows, this.#written, this.#sharers])
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
        this.#written.delete(uid);
      }
      this.#sharers.set(uid, key);
    }
  }

  /** Rejects when the API server does not take it, or there is no Pairing yet; then it is written after the next window. */
  async write(api: Api, { uid, namespace, name }: PreparedClaim, mean: Measured, wallNow: number) {
    // The Pairing has the name of its claim.
    const path = `/apis/cotenant.io/v1alpha1/namespaces/${namespace}/pairings/${name}/status`;
    const { retained, slowdown } = mean;
    const measured = {
      retained,
      ...(slowdown !== undefined && { slowdown }),
      at: new Date(wallNow).toISOString(),
    };
    await api.mergePlain(path, { status: { measured } });
    this.#written.set(uid, mean);
  }
}

const emptyAt = (since: number): Windows => ({
  since,
  ...{ count: 0, retained: 0, slowdowns: 0, slowdown: 0 },
});

/** The last window of a pair; undefined while there is nothing to be measured, or the pod is held for another reason. */
export function pairOf(
  { gpu, podUid }: PreparedClaim,
  gpus: readonly GpuStatus[],
): Measured | undefined {
  const { high = [], bestEffort = [], heldBecause } = gpus.find(({ uuid }) => uuid === gpu) ?? {};
  const own = bestEffort.find(({ identity }) => identity?.pod === podUid);
  if (own?.keptShare === undefined || own.memory?.state === "parked") return undefined;
  if (high.length === 0 || heldBecause !== undefined) return undefined;
  const slowdowns = high.flatMap(({ slowdown }) => slowdown ?? []);
  return {
    retained: own.keptShare,
    slowdown: slowdowns.length > 0 ? 1 + Math.max(0, ...slowdowns) : undefined,
  };
}

const meanOf = ({ count, retained, slowdowns, slowdown }: Windows): Measured => ({
  retained: rounded(retained / count),
  slowdown: slowdowns > 0 ? rounded(slowdown / slowdowns) : undefined,
});

const differs = (one: Measured, other: Measured): boolean =>
  Math.abs(one.retained - other.retained) >= MIN_CHANGE ||
  Math.abs((one.slowdown ?? 0) - (other.slowdown ?? 0)) >= MIN_CHANGE;

const rounded = (n: number): number => Math.round(n * 1000) / 1000;
