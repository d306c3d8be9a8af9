// This order leaves nothing hanging: admission, the manager, pods with its claims, then the rest.
import { setTimeout as wait } from "node:timers/promises";
import { UserError } from "#core";
import { type Api, ApiError } from "../api/client.ts";
import {
  DEVICE_CLASS,
  EXCLUDED_LABEL,
  EXCLUDED_NAMESPACES,
  SYSTEM_NAMESPACE,
} from "../labels/names.ts";
import type { Claim, Namespace, Pod } from "../manager/state/objects.ts";
import { isBestEffort } from "../manager/state/pods.ts";
import { chartObjects, type KubernetesObject, pathOf } from "./objects.ts";

const GONE_WITHIN_MS = 300_000;
const LOOKS_EACH_MS = 500;

const firstGone = [
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
  "ValidatingAdmissionPolicyBinding",
  "ValidatingAdmissionPolicy",
  "Deployment",
  "DaemonSet",
];
const lastGone = ["CustomResourceDefinition", "DeviceClass", "Namespace"];

/** Without `evict`, best-effort pods that are there are a UserError, and nothing is changed. */
export async function uninstall(
  api: Api,
  { evict }: { readonly evict: boolean },
  say: (line: string) => void,
): Promise<void> {
  const pods = await bestEffortPods(api);
  if (pods.length > 0 && !evict) throw stillThere(pods);
  const objects = chartObjects({});
  const of = (kinds: readonly string[]) =>
    kinds.flatMap((kind) => objects.filter((one) => one.kind === kind));
  for (const object of of(firstGone)) await remove(api, object, say);
  // The manager may have matched some more until it was gone.
  await noneLeft(async () => {
    const left = await bestEffortPods(api);
    for (const { metadata } of left)
      await ignoringGone(
        api.remove(`/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`, {
          uid: metadata.uid,
        }),
      );
    return left.map(({ metadata }) => `the pod ${metadata.namespace}/${metadata.name}`);
  });
  if (pods.length > 0) say(`${pods.length} best-effort pods`);
  await noneLeft(async () => {
    const claims = await claimsForGpus(api);
    for (const { metadata } of claims)
      await ignoringGone(
        api.remove(
          `/apis/resource.k8s.io/v1/namespaces/${metadata.namespace}/resourceclaims/${metadata.name}`,
          { uid: metadata.uid },
        ),
      );
    return claims.map(({ metadata }) => `the claim ${metadata.namespace}/${metadata.name}`);
  });
  const named = [...firstGone, ...lastGone];
  for (const object of objects.filter(({ kind }) => !named.includes(kind)))
    await remove(api, object, say);
  const last = of(lastGone);
  for (const object of last) await remove(api, object, say);
  await noneLeft(async () => {
    const there = await Promise.all(last.map((one) => api.find(pathOf(one))));
    return last
      .filter((_, i) => there[i] !== undefined)
      .map(({ kind, metadata }) => `the ${kind} ${metadata.name}`);
  });
}

/** A pod that was made before Cotenant came has neither a gate nor a claim of ours. */
async function bestEffortPods(api: Api): Promise<readonly Pod[]> {
  const { items: namespaces } = await api.list<Namespace>("/api/v1/namespaces");
  const excluded = new Set(
    namespaces
      .filter(({ metadata: { labels = {} } }) => EXCLUDED_LABEL in labels)
      .map(({ metadata }) => metadata.name),
  );
  const { items } = await api.list<Pod>(
    "/api/v1/pods?fieldSelector=status.phase!=Succeeded,status.phase!=Failed",
  );
  return items.filter(
    (pod) =>
      isBestEffort(pod) &&
      !EXCLUDED_NAMESPACES.includes(pod.metadata.namespace ?? "") &&
      !excluded.has(pod.metadata.namespace ?? "") &&
      (pod.spec.resourceClaims ?? []).some(({ resourceClaimName = "" }) =>
        resourceClaimName.startsWith("cotenant-"),
      ),
  );
}

async function claimsForGpus(api: Api): Promise<readonly Claim[]> {
  const { items } = await api.list<Claim>("/apis/resource.k8s.io/v1/resourceclaims");
  return items.filter(({ spec }) =>
    spec.devices?.requests?.some(({ exactly }) => exactly?.deviceClassName === DEVICE_CLASS),
  );
}

async function remove(
  api: Api,
  object: KubernetesObject,
  say: (line: string) => void,
): Promise<void> {
  if (await ignoringGone(api.remove(pathOf(object)))) say(`${object.kind} ${object.metadata.name}`);
}

async function ignoringGone(removal: Promise<void>): Promise<boolean> {
  try {
    await removal;
    return true;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 409)) return false;
    throw error;
  }
}

async function noneLeft(look: () => Promise<readonly string[]>): Promise<void> {
  const end = performance.now() + GONE_WITHIN_MS;
  for (;;) {
    const left = await look();
    if (left.length === 0) return;
    if (performance.now() > end)
      throw new UserError(
        "NOT_UNINSTALLED",
        `${left.length} objects were not gone within ${GONE_WITHIN_MS / 1000} s, the first of them ${left[0]}.`,
        "See what holds it (metadata.finalizers), then run the command again.",
      );
    await wait(LOOKS_EACH_MS);
  }
}

function stillThere(pods: readonly Pod[]): UserError {
  const names = pods.slice(0, 3).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  const more = pods.length > names.length ? `, and ${pods.length - names.length} more` : "";
  return new UserError(
    "PODS_STILL_THERE",
    `Best-effort pods are still there: ${names.join(", ")}${more}. Nothing was changed.`,
    `Suspend or delete their Jobs first, or let --evict delete the pods: what their controllers make then has no GPU. The namespace ${SYSTEM_NAMESPACE} and all WorkloadProfiles are removed too.`,
  );
}
