// Without explorations nothing would be learned of pairs that look bad (decision 0054).
import type { Random } from "#core";
import { occupy, type Rules } from "#place";
import { CHOICE_ANNOTATION, MATCHED_AT_ANNOTATION } from "../../labels/names.ts";
import type { Choice } from "../../labels/pair.ts";
import type { WaitingPod } from "../matching/waiting.ts";
import { requestsSlowed } from "../moves/requests-slowed.ts";
import type { Claim } from "../state/objects.ts";
import { keyOf } from "../state/pods.ts";
import { claimsByGpu, type GpuSeat } from "../state/seats.ts";
import type { ClusterSnapshot } from "../state/snapshot.ts";
import type { MatchCounts } from "./record.ts";

/** It bounds the part of the matches, and is the probability for a pod within the bound. */
const MAX_EXPLORED = 0.02;

export interface ExplorationOptions {
  readonly counts: MatchCounts;
  readonly random: Random;
}

export interface Exploration {
  readonly job: WaitingPod;
  readonly gpu: GpuSeat;
  readonly choice: Choice;
}

export const mayExplore = ({ matches, explored }: MatchCounts): boolean =>
  explored + 1 <= MAX_EXPLORED * (matches + 1);

/** undefined: the claim is one of an older manager. */
export function choiceOf({ metadata }: Claim): Choice | undefined {
  try {
    const { probability, alternatives, explored } = JSON.parse(
      metadata.annotations?.[CHOICE_ANNOTATION] ?? "{}",
    ) as Partial<Choice>;
    return typeof probability === "number" && typeof alternatives === "number"
      ? { probability, alternatives, explored: explored === true }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Pairs are measured after a minute. One that is not by now blocks its GPU no longer. */
const MAX_UNMEASURED_MS = 600_000;

/** Nothing else comes to such a GPU, since a slowdown has to have one cause. */
export function exploringOn({ claims, pairings, wallNow }: ClusterSnapshot): ReadonlySet<string> {
  const measured = new Set(
    [...pairings].filter(({ status }) => status?.measured).map((pairing) => keyOf(pairing)),
  );
  return new Set(
    [...claimsByGpu(claims)].flatMap(([gpu, all]) =>
      all.some(
        (claim) =>
          choiceOf(claim)?.explored &&
          !measured.has(keyOf(claim)) &&
          wallNow - matchedAt(claim) < MAX_UNMEASURED_MS,
      )
        ? [gpu]
        : [],
    ),
  );
}

const matchedAt = ({ metadata }: Claim): number =>
  Date.parse(metadata.annotations?.[MATCHED_AT_ANNOTATION] ?? "");

/** It makes one at most, none beside a service that states an objective or is slowed too much. */
export function explore(
  { counts, random }: ExplorationOptions,
  seen: ClusterSnapshot,
  waiting: readonly WaitingPod[],
  {
    open,
    served,
  }: { readonly open: readonly GpuSeat[]; readonly served: ReadonlyMap<string, GpuSeat> },
  rules: Rules<GpuSeat, WaitingPod>,
): Exploration | undefined {
  if (!mayExplore(counts)) return undefined;
  const job = waiting.find(() => random() < MAX_EXPLORED);
  if (job === undefined) return undefined;
  const spared = sparedServices(seen, served);
  const kept = new Set(seen.kept.map(({ gpu }) => gpu));
  const unknown = open.filter(
    (gpu) => !kept.has(gpu.uuid) && isUnknown(seen, gpu, job, spared) && rules.fits(gpu, job),
  );
  const gpu = unknown[Math.floor(random() * unknown.length)];
  if (gpu === undefined || !occupy(gpu, job, rules)) return undefined;
  const probability = MAX_EXPLORED / unknown.length;
  return { job, gpu, choice: { probability, alternatives: unknown.length, explored: true } };
}

function isUnknown(
  { forecasts, policy }: ClusterSnapshot,
  gpu: GpuSeat,
  job: WaitingPod,
  spared: ReadonlySet<string>,
): boolean {
  if (gpu.pods > 0 || gpu.statesObjective || spared.has(gpu.beside)) return false;
  if (job.memoryBytes > gpu.freeBytes) return false;
  const names = { service: gpu.workload, job: job.workload };
  if (forecasts.isMeasured(names, gpu.model) !== false) return false;
  const { from, retained, slowdown = 1 } = forecasts.of(gpu.service, job.profile, gpu, 0, names);
  const isLearned = from === "rule" || from === "model";
  return isLearned && slowdown <= policy.mostSlowdown && retained >= policy.leastRetained;
}

function sparedServices(
  seen: ClusterSnapshot,
  served: ReadonlyMap<string, GpuSeat>,
): ReadonlySet<string> {
  const gpus = new Set(exploringOn(seen));
  for (const { spec, status } of seen.pairings)
    if (requestsSlowed(status?.measured) > seen.policy.mostSlowdown) gpus.add(spec.gpu);
  return new Set([...gpus].flatMap((gpu) => served.get(gpu)?.beside ?? []));
}

/** `before`: GPUs with free slots, as they were before the decision. */
export function choices(
  before: readonly GpuSeat[],
  rules: Rules<GpuSeat, WaitingPod>,
  isOpen: boolean,
): (job: WaitingPod) => Choice {
  // Pods that are alike have the same alternatives.
  const known = new Map<string, number>();
  return (job) => {
    const key = [job.constraints, job.memoryBytes, job.forecastKind].join("\n");
    let alternatives = known.get(key);
    if (alternatives === undefined) {
      const could = before.filter(
        (gpu) =>
          job.memoryBytes <= gpu.freeBytes &&
          rules.fits(gpu, job) &&
          rules.forecast(gpu, job) !== undefined,
      );
      alternatives = Math.max(1, could.length);
      known.set(key, alternatives);
    }
    return { probability: isOpen ? 1 - MAX_EXPLORED : 1, alternatives, explored: false };
  };
}
