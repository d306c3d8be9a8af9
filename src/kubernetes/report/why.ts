import { percent, UserError } from "#core";
import type { Api } from "../api/client.ts";
import { CLASS_ANNOTATION, GPU_ANNOTATION, NODE_ANNOTATION } from "../labels/names.ts";
import { isExcluded } from "../manager/plan.ts";
import type {
  Claim,
  Forecast,
  GpuNode,
  Namespace,
  Pairing,
  Pod,
} from "../manager/state/objects.ts";
import { claimNameIn } from "../manager/state/pods.ts";
import { isGated, saidOf } from "./status.ts";

const COTENANT = "/apis/cotenant.io/v1alpha1";
const MAX_EVENTS = 5;

/** Rejects with a UserError if there is no such pod, with an ApiError on a refusal. */
export async function whyPod(
  api: Api,
  namespace: string,
  name: string,
): Promise<readonly string[]> {
  const pod = await api.find<Pod>(`/api/v1/namespaces/${namespace}/pods/${name}`);
  if (pod === undefined)
    throw new UserError(
      "NO_SUCH_POD",
      `There is no pod ${name} in the namespace ${namespace}.`,
      "Name another namespace with --namespace.",
    );
  const itsClass = pod.metadata.annotations?.[CLASS_ANNOTATION];
  const said =
    itsClass === "best-effort"
      ? await aboutBestEffort(api, pod)
      : itsClass === "high"
        ? await aboutHigh(api, pod)
        : [`It has no annotation ${CLASS_ANNOTATION}, so Cotenant does not look at it.`];
  return [...said, ...(await eventsOf(api, pod))];
}

async function aboutBestEffort(api: Api, pod: Pod): Promise<readonly string[]> {
  const { namespace } = pod.metadata;
  const name = claimNameIn(pod);
  if (name === "") {
    const own = await api.find<Namespace>(`/api/v1/namespaces/${namespace}`);
    return [
      own && isExcluded(own)
        ? `Cotenant leaves the namespace ${namespace} out, so the pod has no part of a GPU: create it in another one.`
        : "It has no claim: it was created while Cotenant was not installed, or its namespace was left out. Create it again.",
    ];
  }
  const claim = await api.find<Claim>(
    `/apis/resource.k8s.io/v1/namespaces/${namespace}/resourceclaims/${name}`,
  );
  if (claim === undefined)
    return [
      isGated(pod)
        ? `It waits for a GPU. ${saidOf(pod)?.message ?? "The manager has not said why yet: cotenant cluster status shows whether one decides."}`
        : "It has lost its claim, and the manager will evict it.",
    ];
  const { [GPU_ANNOTATION]: gpu, [NODE_ANNOTATION]: node } = claim.metadata.annotations ?? {};
  const pairing = await api.find<Pairing>(`${COTENANT}/namespaces/${namespace}/pairings/${name}`);
  return [
    `It was matched with the GPU ${gpu} of the node ${node}.`,
    claim.status?.allocation
      ? `The scheduler has given it its part of it${pod.status.phase === "Running" ? ", and it runs" : ""}.`
      : "The scheduler has not given it its part of it yet.",
    ...(pairing ? aboutPairing(pairing) : []),
  ];
}

function aboutPairing({ spec, status }: Pairing): readonly string[] {
  const { predicted, service, share, choice } = spec;
  const by = sourceOf(predicted);
  const slowed =
    predicted.slowdown === undefined ? "" : `, and slow it ${predicted.slowdown} times`;
  const measured = status?.measured?.retained;
  return [
    ...(choice?.explored
      ? [
          `It was matched at random, among ${choice.alternatives} GPUs beside whose services no pod like it was measured.`,
        ]
      : []),
    `Beside ${service} it is expected to retain ${percent(predicted.retained)} of its throughput (${by})${slowed}; it may use ${percent(share)} of the SMs now.`,
    measured === undefined
      ? "Nothing was measured yet."
      : `Measured: it retains ${percent(measured)}.`,
  ];
}

function sourceOf({ from, pairs }: Forecast): string {
  switch (from) {
    case "turns":
      return "by the turn bound";
    case "profiles":
      return "by both profiles";
    case "rule":
      return `by the rule of busy shares, from ${pairs} measured pairs of workloads`;
    case "model":
      return `by the model of this cluster's workloads, from ${pairs} measured pairs of workloads`;
  }
}

async function aboutHigh(api: Api, pod: Pod): Promise<readonly string[]> {
  const [{ items: nodes }, { items: pairings }] = await Promise.all([
    api.list<GpuNode>(`${COTENANT}/gpunodes`),
    api.list<Pairing>(`${COTENANT}/pairings`),
  ]);
  const gpus = nodes.flatMap(({ metadata, status }) =>
    (status?.gpus ?? [])
      .filter(({ podUid }) => podUid === pod.metadata.uid)
      .map((gpu) => ({ node: metadata.name, ...gpu })),
  );
  if (gpus.length === 0)
    return [
      "It is of class high, but no node's agent says that it has a GPU: best-effort pods are not taken beside it.",
    ];
  return gpus.map(({ node, uuid, activeShare, healthy, slots, served }) => {
    const beside = pairings.filter(({ spec }) => spec.gpu === uuid);
    const names = beside.map(({ metadata, spec }) => `${metadata.namespace}/${spec.pod}`);
    const health = healthy ? "" : " It is not healthy, so nothing new comes.";
    if (served === false)
      return `It has the GPU ${uuid} of the node ${node}, but no process of it is a client of the agent there, so nothing comes beside it: if it uses the GPU already, create the pod again, and kubectl describe gpunode ${node} says why it runs without Cotenant's library.`;
    return `It has the GPU ${uuid} of the node ${node} and is active ${percent(activeShare)} of the time. ${names.length} of ${slots} slots are taken${names.length > 0 ? `: ${names.join(", ")}` : ""}.${health}`;
  });
}

interface KubernetesEvent {
  readonly reason?: string;
  readonly message?: string;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}

async function eventsOf(
  api: Api,
  { metadata: { namespace, uid } }: Pod,
): Promise<readonly string[]> {
  const { items } = await api.list<KubernetesEvent>(
    `/api/v1/namespaces/${namespace}/events?fieldSelector=involvedObject.uid=${uid}`,
  );
  const at = (one: KubernetesEvent) => one.lastTimestamp ?? one.eventTime ?? "";
  return [...items]
    .sort((a, b) => at(a).localeCompare(at(b)))
    .slice(-MAX_EVENTS)
    .map((one) => `Event ${one.reason}: ${one.message}`);
}
