import { type KeptPlace, learning } from "#place";
import { avoidedNodes, avoidedServices } from "./scheduling/avoided.ts";
import {
  forecasts,
  type LearnedForecasts,
  learnFrom,
  type PairForecasts,
} from "./state/forecast.ts";
import type {
  Claim,
  GpuNode,
  Namespace,
  Node,
  Pairing,
  Pod,
  SharingPolicy,
  WorkloadProfile,
} from "./state/objects.ts";
import { controllerOf, workloadOf } from "./state/pods.ts";
import { policyOf } from "./state/policy.ts";
import { type ServiceMemories, serviceMemories } from "./state/services.ts";
import { type CarriedState, type ClusterSnapshot, claimsForGpus } from "./state/snapshot.ts";
import { tries } from "./state/tried.ts";
import { type Volumes, volumeDemandOf } from "./state/volumes.ts";

interface Stored<T> {
  values(): Iterable<T>;
}

export interface ClusterObjects {
  readonly pods: Stored<Pod>;
  readonly namespaces: Stored<Namespace>;
  readonly nodes: Stored<Node>;
  readonly claims: Stored<Claim>;
  readonly gpuNodes: Stored<GpuNode>;
  readonly pairings: Stored<Pairing>;
  readonly profiles: Stored<WorkloadProfile>;
  readonly policies: Stored<SharingPolicy>;
  readonly volumeClaims: Volumes["claims"];
  readonly volumes: Volumes["volumes"];
  readonly classes: Volumes["classes"];
}

export interface Sampler {
  /** `now` is in monotonic ms, `wallNow` in ms since 1970. */
  seen(now: number, wallNow: number): ClusterSnapshot;
  /** Pods of this one's controller are not taken to the node again for some time. */
  avoid(pod: Pod, node: string, now: number): void;
  /** Pods of its workload do not run beside this service's controller again for some time. */
  slowed(pod: Pod, service: string, now: number): void;
  /** A GPU's place is kept for some time for the next pod of this one's controller. */
  keep(pod: Pod, gpu: string, memoryBytes: number, now: number): void;
  taken(pod: Pod, gpu: string): void;
  remember(noted: CarriedState): void;
  /** No claims are made in the namespace for some time, because the API server refused one. */
  refuse(namespace: string, why: string, now: number): void;
  readonly memories: ServiceMemories;
}

/** An observation that is older than this when it is first seen is one of an agent that is gone. */
const OLD_MS = 150_000;
/** The next pod of one that was moved comes when the other has ended. */
const KEPT_MS = 120_000;
const REFUSED_MS = 60_000;

/** `pairs` are forecasts by profiles, `learner` those from what was measured. */
export function samplerOf(
  all: ClusterObjects,
  pairs: PairForecasts | undefined,
  learner?: LearnedForecasts,
): Sampler {
  const learned = learning();
  const tried = tries();
  const memories = serviceMemories();
  let noted: CarriedState = {
    ...{ losing: new Map(), refused: new Map(), crowded: new Map(), sharers: new Map() },
  };
  let kept: (KeptPlace & { readonly until: number })[] = [];
  const heard = new Map<string, { observedAt: string; at: number }>();
  const avoided = avoidedNodes();
  const slowed = avoidedServices();
  const refused = new Map<string, { readonly why: string; readonly until: number }>();

  const listen = (now: number, wallNow: number): void => {
    for (const { metadata, status } of all.gpuNodes.values()) {
      const before = heard.get(metadata.name);
      const { observedAt = "" } = status ?? {};
      if (before?.observedAt === observedAt) continue;
      // Clocks of nodes differ: only an observation older than the manager is judged by its time.
      const isOld = before === undefined && !(wallNow - Date.parse(observedAt) < OLD_MS);
      heard.set(metadata.name, { observedAt, at: isOld ? Number.NEGATIVE_INFINITY : now });
    }
  };
  return {
    memories,
    seen(now, wallNow) {
      listen(now, wallNow);
      const policy = policyOf(all.policies.values());
      const known = forecasts(pairs, all.profiles.values(), learned, policy.mostSlowdown, learner);
      const byKey = new Map(
        [...all.pods.values()].map((pod) => [
          `${pod.metadata.namespace}/${pod.metadata.name}`,
          pod,
        ]),
      );
      for (const pairing of all.pairings.values()) {
        const pod = byKey.get(`${pairing.metadata.namespace}/${pairing.spec.pod}`);
        const service = byKey.get(pairing.spec.service);
        if (pod && service)
          learnFrom(learned, pairing, known.profileOf(service), known.profileOf(pod));
      }
      avoided.forget(now);
      slowed.forget(now);
      for (const [namespace, { until }] of refused) if (until <= now) refused.delete(namespace);
      kept = kept.filter(({ until }) => until > now);
      const seen = {
        ...{ now, wallNow, forecasts: known, pods: [...byKey.values()], ...noted, kept },
        policy,
        namespaces: [...all.namespaces.values()],
        claims: claimsForGpus(all.claims.values(), byKey.values()),
        nodes: [...all.nodes.values()],
        gpuNodes: [...all.gpuNodes.values()],
        pairings: [...all.pairings.values()],
        heardAt: (node: string) => heard.get(node)?.at ?? Number.NEGATIVE_INFINITY,
        avoided: (pod: Pod) => avoided.now(controllerOf(pod), now),
        failedOn: (pod: Pod) => avoided.ever(controllerOf(pod)),
        slowed: (pod: Pod) => slowed.now(workloadOf(pod), now),
        serviceBytes: memories.of,
        volumeDemand: (pod: Pod) => volumeDemandOf(pod, { ...all, claims: all.volumeClaims }),
        refusal(namespace: string) {
          const { why, until = now } = refused.get(namespace) ?? {};
          return until > now ? why : undefined;
        },
      };
      tried.observe(seen);
      memories.observe(seen);
      return { ...seen, trials: tried.of };
    },
    keep(pod, gpu, memoryBytes, now) {
      kept.push({ owner: controllerOf(pod), gpu, memoryBytes, until: now + KEPT_MS });
    },
    taken(pod, gpu) {
      const owner = controllerOf(pod);
      const at = kept.findIndex((one) => one.owner === owner && one.gpu === gpu);
      if (at >= 0) kept.splice(at, 1);
    },
    remember(next) {
      noted = next;
    },
    avoid(pod, node, now) {
      avoided.add(controllerOf(pod), node, now);
    },
    slowed(pod, service, now) {
      slowed.add(workloadOf(pod), service, now);
    },
    refuse(namespace, why, now) {
      refused.set(namespace, { why, until: now + REFUSED_MS });
    },
  };
}
