// An operator's own workloads, and pairs of them as `cotenant-lab predict collect` writes them.
//
// In the scenario: "workloads": [{ "name": "ranker", "requestMs": 8, "memoryGB": 6, "busy": 0.5, "memoryBusy": 0.3,
// "smNeed": 0.4 }, …]. A workload with requestMs is a service, any other a training. busy, memoryBusy: parts of the time,
// 0 to 1. smNeed: the part of the SMs that it can use, or byShare: its throughput on 10, 20, … 100 % of them.
import { type Field, readJson } from "#core";
import { badScenario } from "../model/errors.ts";
import type { Truth } from "../model/truth.ts";
import { aloneAt, type Workload } from "../model/workload.ts";
import { curveOf, syntheticTruth } from "./synthetic.ts";

const FIELDS = ["name", "requestMs", "memoryGB", "busy", "memoryBusy", "smNeed", "byShare"];
const SHARES = 10;

export function readOwnWorkload(one: Field): Workload {
  one.only(FIELDS);
  const requestMs = one.at("requestMs").optional((field) => field.number({ above: 0 }));
  const byShare = one.at("byShare").optional((field) => {
    const speeds = field.list().map((speed) => speed.number({ least: 0 }));
    const whole = speeds.at(-1) ?? 0;
    if (speeds.length !== SHARES || !(whole > 0))
      throw field.bad(`must be ${SHARES} numbers, of which the last is above 0.`);
    return speeds.map((speed) => Math.min(1, speed / whole));
  });
  return {
    name: one.at("name").text(),
    role: requestMs === undefined ? "offline" : "online",
    requestMs: requestMs ?? 0,
    memoryGB: one.at("memoryGB").number({ least: 0 }),
    busy: one.at("busy").or(1).ratio(),
    memoryBusy: one.at("memoryBusy").or(0.5).ratio(),
    byShare: byShare ?? curveOf(one.at("smNeed").or(1).number({ least: 0.01, most: 1 })),
  };
}

/** Costs of both sides at a share of the SMs, 0 to 1. */
interface Point {
  readonly share: number;
  readonly onlineLoss: number;
  readonly offlineLoss: number;
}

/**
 * The truth of measured pairs. Rows with other than two clients are ignored, and several rows of a pair at one share are
 * averaged. Between shares that were measured, losses are linear; without the SMs of the other side there is no loss.
 * `others`: the truth of pairs that were not measured. Throws a UserError that names the place in the file.
 */
export function readOwnPairs(
  text: string,
  file: string,
  workloads: readonly Workload[],
  others: Truth | undefined,
): Truth {
  const whole = readJson(text, file, badScenario);
  whole.at("version").one([1]);
  const named = new Map(workloads.map((one) => [one.name, one]));
  const points = new Map<string, Point[]>();
  for (const row of whole.at("colocations").filledList("colocation")) {
    const clients = row.at("clients").list();
    if (clients.length !== 2) continue;
    const [first, second] = clients.map((client) => ({
      workload: named.get(client.at("workload").text()),
      retained: retainedOf(client, whole),
      share: client.at("smShare").or(1).number({ above: 0, most: 1 }),
    }));
    if (!first?.workload || !second?.workload) continue;
    for (const [one, other] of [
      [first, second],
      [second, first],
    ] as const) {
      if (!one.workload || !other.workload) continue;
      const alone = aloneAt(other.workload, other.share);
      const key = keyOf(one.workload, other.workload);
      points.set(key, [
        ...(points.get(key) ?? []),
        {
          share: other.share,
          onlineLoss: 1 - Math.min(1, one.retained / aloneAt(one.workload, one.share)),
          offlineLoss: alone > 0 ? 1 - Math.min(1, other.retained / alone) : 0,
        },
      ]);
    }
  }
  const averaged = new Map([...points].map(([key, all]) => [key, average(all)]));
  return truthOf(averaged, others);
}

function retainedOf(client: Field, whole: Field): number {
  const retained = client.at("retained").optional((one) => one.number({ least: 0 }));
  if (retained !== undefined) return retained;
  const solo = whole
    .at("workloads")
    .or({})
    .at(client.at("workload").text())
    .or({})
    .at("soloThroughput")
    .optional((one) => one.number({ above: 0 }));
  if (solo === undefined)
    throw client.bad(
      'has neither "retained" nor a "throughput" of a workload with soloThroughput.',
    );
  return client.at("throughput").number({ least: 0 }) / solo;
}

const keyOf = (online: Workload, offline: Workload): string => `${online.name}\n${offline.name}`;

function average(points: readonly Point[]): readonly Point[] {
  const shares = [...new Set(points.map(({ share }) => share))].sort((a, b) => a - b);
  return shares.map((share) => {
    const same = points.filter((point) => point.share === share);
    const mean = (of: (point: Point) => number) =>
      same.reduce((sum, point) => sum + of(point), 0) / same.length;
    return {
      share,
      onlineLoss: mean(({ onlineLoss }) => onlineLoss),
      offlineLoss: mean(({ offlineLoss }) => offlineLoss),
    };
  });
}

const MAX_LOST = 0.95;

/** Linear between the points and from 0 at share 0; beyond the last point in proportion to the share. */
function lossAt(points: readonly Point[], share: number, of: (point: Point) => number): number {
  let [from, before] = [0, 0];
  for (const point of points) {
    if (share <= point.share) {
      const part = (share - from) / (point.share - from);
      return before + (of(point) - before) * part;
    }
    [from, before] = [point.share, of(point)];
  }
  return Math.min(MAX_LOST, (before * share) / from);
}

const NOT_MEASURED = { online: Number.NaN, offline: Number.NaN };

const truthOf = (
  points: ReadonlyMap<string, readonly Point[]>,
  others: Truth | undefined,
): Truth => ({
  together(online, offline, share) {
    const own = points.get(keyOf(online, offline));
    if (!own) return others?.together(online, offline, share) ?? NOT_MEASURED;
    return {
      online: 1 - lossAt(own, share, ({ onlineLoss }) => onlineLoss),
      offline: aloneAt(offline, share) * (1 - lossAt(own, share, ({ offlineLoss }) => offlineLoss)),
    };
  },
  beside(one, other, share) {
    const own = points.get(keyOf(one, other));
    return own
      ? 1 - lossAt(own, share, ({ onlineLoss }) => onlineLoss)
      : (others ?? syntheticTruth).beside(one, other, share);
  },
});
