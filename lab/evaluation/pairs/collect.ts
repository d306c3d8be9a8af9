// Makes the measurements from which predictors learn, from the measured pairs of a cluster.
import { usage } from "#core";
import type { Features } from "#predict";
import { besideRequests } from "./beside.ts";
import { groupsOf } from "./groups.ts";
import type { ClusterObjects, ClusterPair } from "./objects.ts";

interface Client {
  readonly workload: string;
  readonly retained: number;
}

export interface CollectedPairs {
  readonly version: 1;
  readonly source: string;
  readonly arrangement: string;
  /** By name. */
  readonly workloads: Readonly<Record<string, Features>>;
  readonly colocations: readonly {
    readonly clients: readonly [service: Client, job: Client];
    /** Time that was measured. */
    readonly seconds: number;
  }[];
}

/** Why pairs are not among the colocations: how many, by reason. */
export type LeftOut = ReadonlyMap<string, number>;

/**
 * Pairs of all files once each: of rows of one pair, the one with the most seconds. A pair whose job never had the GPU by
 * itself takes the solo rate of the same job in other pairs on the same model.
 */
export function distinct(all: readonly ClusterPair[]): readonly ClusterPair[] {
  const known = new Map<string, ClusterPair>();
  for (const pair of all) {
    const before = known.get(pair.key);
    if (before === undefined || pair.seconds >= before.seconds) known.set(pair.key, pair);
  }
  return withSoloRates([...known.values()]);
}

function withSoloRates(pairs: readonly ClusterPair[]): readonly ClusterPair[] {
  const keyOf = ({ job, model }: ClusterPair) => `${job}\n${model}`;
  const latest = new Map<string, ClusterPair>();
  for (const pair of [...pairs].sort((one, other) => one.at.getTime() - other.at.getTime()))
    if (pair.soloPerS !== undefined) latest.set(keyOf(pair), pair);
  return pairs.map((pair) => {
    const { soloPerS, soloBusy } = latest.get(keyOf(pair)) ?? {};
    if (pair.by === "work" || pair.perS === undefined || !soloPerS) return pair;
    const retained = Math.min(1, pair.perS / soloPerS);
    return { ...pair, retained, by: "work", soloPerS, soloBusy };
  });
}

/**
 * One colocation for each two workloads, the mean of their pairs weighted by time: pairs of the same workloads are no
 * independent evidence. Throws a UserError if there are none, or of several models of GPUs.
 */
export function collectPairs(
  { pairs, profiles }: ClusterObjects,
  arrangement: string,
  model: string | undefined,
): { readonly collected: CollectedPairs; readonly leftOut: LeftOut } {
  const leftOut = new Map<string, number>();
  const usable = distinct(pairs).filter((pair) => {
    const why = reasonAgainst(pair, arrangement, model);
    if (why !== undefined) leftOut.set(why, (leftOut.get(why) ?? 0) + 1);
    return why === undefined;
  });
  const models = [...new Set(usable.map((pair) => pair.model))].sort();
  if (models.length > 1)
    throw usage(
      `The pairs are of several models of GPUs: ${models.join(", ")}.`,
      "Name one with --gpu: a model is of one.",
    );
  const groups = groupsOf(usable, ({ service, job }) => `${service}\n${job}`);
  if (groups.size === 0)
    throw usage(
      `No pair of ${arrangement} can be learned from${leftOut.size > 0 ? `: ${reasonsIn(leftOut)}` : ""}.`,
      "--arrangement takes the POLICY-MODE of the nodes' agents; pairs are measured after a minute.",
    );
  const named = new Set(usable.flatMap(({ service, job }) => [service, job]));
  return {
    leftOut,
    collected: {
      version: 1,
      source: `${models[0]}, ${arrangement}, ${usable.length} pairs of a cluster`,
      arrangement,
      workloads: Object.fromEntries([...profiles].filter(([name]) => named.has(name))),
      colocations: [...groups.values()].map(colocationOf),
    },
  };
}

/** For people: "3 ran under strict-isolated, 2 …". */
export const reasonsIn = (leftOut: LeftOut): string =>
  [...leftOut].map(([why, count]) => `${count} ${why}`).join(", ");

function reasonAgainst(
  pair: ClusterPair,
  arrangement: string,
  model: string | undefined,
): string | undefined {
  if (pair.arrangement !== arrangement) return `ran under ${pair.arrangement}`;
  if (model !== undefined && pair.model !== model) return `ran on another model, ${pair.model}`;
  if (pair.by !== "work") return "had no solo rate of the job";
  if (pair.slowdown === undefined) return "had no solo times of the service";
  if (pair.others > 0) return "shared with further jobs";
  if (besideRequests(pair.retained, pair.load) === undefined) return "had too little load";
  return undefined;
}

function colocationOf(pairs: readonly ClusterPair[]): CollectedPairs["colocations"][number] {
  const seconds = pairs.reduce((sum, pair) => sum + pair.seconds, 0);
  const mean = (of: (pair: ClusterPair) => number) =>
    pairs.reduce((sum, pair) => sum + pair.seconds * of(pair), 0) / seconds;
  const [{ service = "", job = "" } = {}] = pairs;
  return {
    clients: [
      { workload: service, retained: mean(({ slowdown = 1 }) => Math.min(1, 1 / slowdown)) },
      {
        workload: job,
        retained: mean(({ retained, load }) => besideRequests(retained, load) ?? 0),
      },
    ],
    seconds,
  };
}
