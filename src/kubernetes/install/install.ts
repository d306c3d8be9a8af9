import { setTimeout as wait } from "node:timers/promises";
import { UserError } from "#core";
import type { Api } from "../api/client.ts";
import { SYSTEM_NAMESPACE } from "../labels/names.ts";
import { nodesUp } from "./nodes-up.ts";
import { chartObjects, pathOf, type Values } from "./objects.ts";

/** From this version on capacity that claims share and taints of devices are on by default. */
const MIN_MINOR = 36;
const LOOKS_EACH_MS = 500;

/** Throws a UserError for a cluster that is too old, or programs that are not up in `waitMs`. */
export async function install(
  api: Api,
  values: Values,
  waitMs: number,
  say: (line: string) => void,
): Promise<void> {
  const { gitVersion, major, minor } = await api.get<Record<string, string>>("/version");
  if (major === "1" && Number.parseInt(minor ?? "", 10) < MIN_MINOR)
    throw new UserError(
      "KUBERNETES_TOO_OLD",
      `The cluster runs Kubernetes ${gitVersion}, and Cotenant needs 1.${MIN_MINOR}.`,
      "Before it, GPUs whose memory several claims share are off by default.",
    );
  const objects = chartObjects(await withRuntimeClass(api, values));
  for (const object of objects.filter(({ kind }) => kind === "Deployment"))
    refuseHelms(await api.find<Deployment>(pathOf(object)));
  for (const object of objects) {
    await api.apply(pathOf(object), object);
    say(`${object.kind} ${object.metadata.name}`);
  }
  for (const object of objects.filter(({ kind }) => kind === "Deployment"))
    await started(api, pathOf(object), object.metadata.name, waitMs, say);
  if (waitMs > 0) await nodesUp(api, waitMs, say);
}

const NVIDIAS = "nvidia";

/** Where it is, NVIDIA's runtime is not the default one, and the agent sees no GPU without it. */
async function withRuntimeClass(api: Api, values: Values): Promise<Values> {
  if (values.gpu === "soft" || values.node?.runtimeClassName !== undefined) return values;
  const found = await api.find(`/apis/node.k8s.io/v1/runtimeclasses/${NVIDIAS}`);
  return found === undefined ? values : { ...values, node: { runtimeClassName: NVIDIAS } };
}

/** Two who both apply the same objects would change them to and fro. */
function refuseHelms(deployment: Deployment | undefined): void {
  const { labels = {}, annotations = {} } = deployment?.metadata ?? {};
  if (labels["app.kubernetes.io/managed-by"] === "Helm")
    throw new UserError(
      "INSTALLED_BY_HELM",
      `Helm has installed Cotenant in this cluster, as the release ${annotations["meta.helm.sh/release-name"]}.`,
      "Go on with helm upgrade, or run helm uninstall first.",
    );
}

interface Deployment {
  readonly metadata: {
    readonly generation?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly replicas?: number };
  readonly status?: { readonly observedGeneration?: number; readonly availableReplicas?: number };
}

async function started(
  api: Api,
  path: string,
  name: string,
  waitMs: number,
  say: (line: string) => void,
): Promise<void> {
  const end = performance.now() + waitMs;
  if (waitMs > 0) say(`waits until the pods of ${name} run, at most ${waitMs / 1000} s`);
  while (performance.now() < end) {
    const { metadata, spec, status } = await api.get<Deployment>(path);
    const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
    if (isSeen && (status?.availableReplicas ?? 0) >= (spec.replicas ?? 1)) return;
    await wait(LOOKS_EACH_MS);
  }
  if (waitMs === 0) return;
  const { why, cure } = await whyNot(api);
  throw new UserError(
    "NOT_STARTED",
    `Everything is installed, but the pods of ${name} did not come up in ${Math.round(waitMs / 1000)} s${why}.`,
    cure,
  );
}

interface SystemPod {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly state?: {
        readonly waiting?: { readonly reason?: string; readonly message?: string };
      };
    }[];
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message?: string;
    }[];
  };
}

async function whyNot(api: Api): Promise<{ readonly why: string; readonly cure: string }> {
  const { items } = await api.list<SystemPod>(`/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods`);
  const cure = `kubectl -n ${SYSTEM_NAMESPACE} get pods shows them.`;
  for (const { metadata, status } of items) {
    for (const { name, state } of status?.containerStatuses ?? [])
      if (state?.waiting) {
        const { reason = "", message = reason } = state.waiting;
        return {
          why: `: the container ${name} of ${metadata.name} waits: ${message}`,
          cure: /Image/.test(reason)
            ? "Check that the image of --image is in a registry that the nodes reach, and name the Secret of a private one by --image-pull-secret. Then run the command again."
            : cure,
        };
      }
    const unscheduled = status?.conditions?.find(
      ({ type, status: holds }) => type === "PodScheduled" && holds === "False",
    );
    if (unscheduled)
      return { why: `: ${metadata.name} is not scheduled: ${unscheduled.message}`, cure };
  }
  return { why: "", cure };
}
