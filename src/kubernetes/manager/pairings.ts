// The node part gives the share to its agent, and writes beside it what is measured.
import { SHARE_STEP, shareOut } from "#place";
import {
  CLASS_ANNOTATION,
  GPU_ANNOTATION,
  NODE_ANNOTATION,
  PROFILE_ANNOTATION,
} from "../labels/names.ts";
import type { BurstForecast, WorkloadNames } from "../labels/pair.ts";
import { choiceOf } from "./learning/explore.ts";
import type { Claim, Forecast, ObservedGpu, Pairing, PairingSpec, Pod } from "./state/objects.ts";
import { claimKeyIn, isBestEffort, keyOf, workloadOf } from "./state/pods.ts";
import { claimsByGpu } from "./state/seats.ts";
import type { ClusterSnapshot } from "./state/snapshot.ts";

export type PairingChange =
  | {
      readonly kind: "create";
      readonly pod: Pod;
      readonly name: string;
      readonly spec: PairingSpec;
    }
  | { readonly kind: "share"; readonly pairing: Pairing; readonly share: number };

/** A share that differs by less than a step is not worth a write. */
const MIN_CHANGE = SHARE_STEP * 0.99;
const MAX_CONCURRENT = 500;

export function pairingChanges(seen: ClusterSnapshot): readonly PairingChange[] {
  const pods = new Map<string, Pod>();
  const services = new Map<string, Pod>();
  for (const pod of seen.pods)
    if (isBestEffort(pod)) pods.set(claimKeyIn(pod), pod);
    else if (pod.metadata.annotations?.[CLASS_ANNOTATION] === "high")
      services.set(pod.metadata.uid, pod);
  const pairings = new Map([...seen.pairings].map((one) => [keyOf(one), one]));
  const gpus = new Map<string, ObservedGpu>();
  for (const { status } of seen.gpuNodes)
    for (const gpu of status?.gpus ?? []) gpus.set(gpu.uuid, gpu);
  const changes: PairingChange[] = [];
  const { forecasts } = seen;
  for (const [uuid, claims] of claimsByGpu(seen.claims)) {
    const gpu = gpus.get(uuid);
    const service = services.get(gpu?.podUid ?? "");
    if (gpu === undefined || service === undefined) continue;
    const profile = forecasts.profileOf(service);
    const there = claims.flatMap((claim) => pods.get(keyOf(claim)) ?? []);
    const caps = there.map(
      (pod) => forecasts.of(profile, forecasts.profileOf(pod), gpu, claims.length - 1).share,
    );
    const share = shareOfEach(Math.min(...caps), claims.length);
    for (const claim of claims) {
      if (changes.length >= MAX_CONCURRENT) return changes;
      const pod = pods.get(keyOf(claim));
      if (pod === undefined) continue;
      const pairing = pairings.get(keyOf(claim));
      if (pairing === undefined)
        changes.push({
          kind: "create",
          pod,
          name: claim.metadata.name,
          spec: specOf(seen, { claim, pod, service, gpu, share, others: claims.length - 1 }),
        });
      else if (Math.abs(pairing.spec.share - share) > MIN_CHANGE)
        changes.push({ kind: "share", pairing, share: rounded(share) });
    }
  }
  return changes;
}

function shareOfEach(cap: number, count: number): number {
  const [part = cap] = shareOut(
    cap,
    Array.from({ length: count }, () => 1),
  );
  // Steps are whole, so that shares change as seldom as the load does.
  return Math.max(SHARE_STEP, Math.floor(part / SHARE_STEP + 1e-9) * SHARE_STEP);
}

interface Pair {
  readonly claim: Claim;
  readonly pod: Pod;
  readonly service: Pod;
  readonly gpu: ObservedGpu;
  readonly share: number;
  readonly others: number;
}

function specOf(
  { forecasts }: ClusterSnapshot,
  { claim, pod, service, gpu, share, others }: Pair,
): PairingSpec {
  const { [NODE_ANNOTATION]: node = "", [GPU_ANNOTATION]: uuid = "" } =
    claim.metadata.annotations ?? {};
  const choice = choiceOf(claim);
  const forecast = forecasts.of(
    forecasts.profileOf(service),
    forecasts.profileOf(pod),
    gpu,
    others,
    { service: workloadOf(service), job: workloadOf(pod) },
  );
  return {
    pod: pod.metadata.name,
    service: `${service.metadata.namespace}/${service.metadata.name}`,
    ...{ node, gpu: uuid, share: rounded(share) },
    predicted: predictedIn(forecast),
    names: { job: namesOf(pod), service: namesOf(service) },
    ...(choice && { choice }),
  };
}

const figures = ["retained", "retainedLow", "retainedHigh", "slowdown", "slowdownHigh"] as const;

export function predictedIn({ from, pairs, parts, bursts, ...forecast }: Forecast): Forecast {
  const known = figures.flatMap((name) => {
    const { [name]: value } = forecast;
    // Errors of few pairs give no upper bound.
    return value !== undefined && Number.isFinite(value) ? [[name, rounded(value)]] : [];
  });
  return {
    ...{ from, retained: rounded(forecast.retained), ...Object.fromEntries(known) },
    ...(bursts && { bursts: burstsOf(bursts) }),
    ...(pairs !== undefined && { pairs }),
    ...(parts && { parts: { beside: rounded(parts.beside), alone: rounded(parts.alone) } }),
  };
}

const burstsOf = ({ slowdown, low, high = Number.POSITIVE_INFINITY }: BurstForecast) => ({
  ...{ slowdown: rounded(slowdown), low: rounded(low) },
  ...(Number.isFinite(high) && { high: rounded(high) }),
});

/** A profile that is not there counts as named: who reads the Pairing later may have it. */
function namesOf(pod: Pod): WorkloadNames {
  const { namespace, annotations } = pod.metadata;
  const profile = annotations?.[PROFILE_ANNOTATION];
  return {
    workload: workloadOf(pod),
    ...(profile !== undefined && { profile: `${namespace}/${profile}` }),
  };
}

const rounded = (n: number): number => Math.round(n * 1000) / 1000;

const GROUP = "/apis/cotenant.io/v1alpha1";

/** `object` is the whole one (`create`), or what changes of it. */
export function pairingWrite(change: PairingChange): {
  readonly path: string;
  readonly object: object;
} {
  if (change.kind === "share") {
    const { namespace, name, uid } = change.pairing.metadata;
    return {
      path: `${GROUP}/namespaces/${namespace}/pairings/${name}`,
      object: { metadata: { uid }, spec: { share: change.share } },
    };
  }
  const { namespace, name, uid } = change.pod.metadata;
  return {
    path: `${GROUP}/namespaces/${namespace}/pairings`,
    object: {
      apiVersion: "cotenant.io/v1alpha1",
      kind: "Pairing",
      metadata: {
        name: change.name,
        namespace,
        // Kubernetes deletes it with the pod.
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid }],
      },
      spec: change.spec,
    },
  };
}
