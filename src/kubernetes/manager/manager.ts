// The manager's loop: looks at the whole cluster once an interval, plans and acts.
import { setTimeout } from "node:timers/promises";
import { wallNow } from "#core";
import { type Api, ApiError } from "../api/client.ts";
import { carryOut } from "./act.ts";
import type { Claim, GpuNode, Namespace, Node, Pod } from "./objects.ts";
import { type Action, plan } from "./plan.ts";

/** Runs until the signal aborts. What can't be done is said, and tried again in the next interval. */
export async function manage(
  api: Api,
  intervalMs: number,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await reconcile(api, say);
    } catch (error) {
      say(`the cluster could not be read: ${error instanceof Error ? error.message : error}`);
    }
    await setTimeout(intervalMs, undefined, { signal }).catch(() => {}); // it was aborted
  }
}

async function reconcile(api: Api, say: (line: string) => void): Promise<void> {
  // Before the claims: a pod that may be scheduled has had its claim by then.
  const pods = await api.list<Pod>("/api/v1/pods").then((all) => all.items);
  const [namespaces, claims, nodes, gpuNodes] = await Promise.all([
    api.list<Namespace>("/api/v1/namespaces").then((all) => all.items),
    api.list<Claim>("/apis/resource.k8s.io/v1/resourceclaims").then((all) => all.items),
    api.list<Node>("/api/v1/nodes").then((all) => all.items),
    api.list<GpuNode>("/apis/cotenant.io/v1alpha1/gpunodes").then((all) => all.items),
  ]);
  const now = wallNow();
  for (const action of plan({ now, namespaces, pods, claims, nodes, gpuNodes })) {
    try {
      await carryOut(api, action, now);
      say(`${sentenceOf(action)}.`);
    } catch (error) {
      // Somebody else has changed or deleted the pod: the next look tells.
      if (!(error instanceof ApiError)) throw error;
      say(`${sentenceOf(action)}: not done, ${error.message}`);
    }
  }
}

function sentenceOf({ kind, pod, node }: Action): string {
  const { namespace, name } = pod.metadata;
  const what = { claim: "matched with", release: "released to", "give-up": "given up on" };
  return `${namespace}/${name} ${what[kind]} the node ${node || "of a lost claim"}`;
}
