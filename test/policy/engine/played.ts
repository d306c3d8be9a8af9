// An engine beside best-effort work, by a policy or at a fixed level, look by look.
import { type Memory, policyNamed, type RequestLimits } from "#policy";
import { bucketCount, bucketOf } from "#protocol";
import { EnginePlant, Reader, type Served, type Shape, type Traffic } from "./plant.ts";

const LOOK_MS = 250;
const { rules, remember } = policyNamed("cotenant");

export interface Run {
  readonly shape: Shape;
  readonly traffic: Traffic;
  readonly seconds: number;
  readonly seed: number;
  readonly limits: RequestLimits;
  /** A level in force throughout; undefined: by the policy. "alone": no best-effort work. */
  readonly fixed?: number | "alone";
  readonly costs?: number;
  readonly isolated?: boolean;
  /** What happens to the engine at a look. */
  readonly events?: (plant: EnginePlant, atS: number) => void;
}

interface Look {
  readonly at: number;
  readonly level: number;
  readonly kept: number;
  readonly batch: number;
  readonly state: string | undefined;
}

export interface Outcome {
  readonly looks: readonly Look[];
  readonly served: readonly Served[];
}

/** What the engine's requests took, in us. */
export function played(run: Run): Outcome {
  const { shape, traffic, seconds, seed, limits, fixed, costs = 1, isolated = true, events } = run;
  const plant = new EnginePlant(shape, traffic, seed, costs);
  const reader = new Reader();
  const looks: Look[] = [];
  let memory: Memory | undefined;
  let kept = 0;
  for (let at = LOOK_MS; at <= seconds * 1000; at += LOOK_MS) {
    events?.(plant, at / 1000);
    const inForce: Memory | undefined =
      typeof fixed === "number"
        ? { level: fixed, requestsOnly: true, pausedUntilMs: undefined, clients: new Map() }
        : memory;
    const high = [{ name: "engine", burstP50Us: 35 }];
    const now = rules({ isolated, high }, inForce);
    plant.run(at, now, fixed !== "alone");
    const ended = new Uint32Array(bucketCount);
    ended[bucketOf(1e6 * shape.stepMs)] = 5;
    if (fixed === undefined)
      memory = remember?.(
        {
          isolated,
          nowMs: at,
          colocated: true,
          high: [
            {
              id: "engine",
              name: "engine",
              burstP50Us: 35,
              objective: { p99Us: undefined, slowdown: undefined, requests: limits },
              ended,
              requests: reader.look(plant, limits, 300),
            },
          ],
        },
        memory,
      );
    looks.push({
      at: at / 1000,
      level: inForce?.level ?? 0,
      kept: (plant.kept - kept) / LOOK_MS,
      batch: plant.batch,
      state: memory?.clients.get("engine")?.state,
    });
    kept = plant.kept;
  }
  return { looks, served: plant.served };
}

export const quantile = (values: readonly number[], q: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(q * sorted.length) - 1)] ?? Number.NaN;
};

const WINDOW_MS = 10_000;

/** The part of the windows of 10 s, by arrival, in which the p99 of a kind is above its limit. */
export function violated(
  { served }: Outcome,
  { ttft = Infinity, tpot = Infinity }: RequestLimits,
  fromS: number,
  toS: number,
): number {
  let [windows, bad] = [0, 0];
  for (let from = fromS * 1000; from + WINDOW_MS <= toS * 1000; from += WINDOW_MS) {
    const own = served.filter(({ arrivedMs }) => arrivedMs >= from && arrivedMs < from + WINDOW_MS);
    if (own.length === 0) continue;
    windows++;
    const late =
      quantile(
        own.map((one) => 1000 * one.ttft),
        0.99,
      ) > ttft ||
      quantile(
        own.map((one) => 1000 * one.tpot),
        0.99,
      ) > tpot;
    if (late) bad++;
  }
  return windows === 0 ? 0 : bad / windows;
}

export const keptIn = ({ looks }: Outcome, fromS = 0): number => {
  const own = looks.filter(({ at }) => at > fromS);
  return own.reduce((sum, { kept }) => sum + kept, 0) / own.length;
};
