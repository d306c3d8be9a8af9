import { setTimeout as wait } from "node:timers/promises";
import { UserError } from "#core";
import type { Api } from "../api/client.ts";
import { SYSTEM_NAMESPACE } from "../labels/names.ts";
import { nodePartOf } from "../report/node-part.ts";

const LOOKS_EACH_MS = 500;
const LONGEST_CAUSE = 500;

interface NodePod {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly ready: boolean;
      readonly state?: {
        readonly waiting?: { readonly reason?: string; readonly message?: string };
      };
      readonly lastState?: { readonly terminated?: { readonly message?: string } };
    }[];
  };
}

/** Throws a UserError when the node part does not come up in time. */
export async function nodesUp(
  api: Api,
  waitMs: number,
  say: (line: string) => void,
): Promise<void> {
  const end = performance.now() + waitMs;
  say(`waits until the node part runs, at most ${waitMs / 1000} s`);
  for (;;) {
    const part = await nodePartOf(api);
    if (part !== undefined && part.ready >= part.nodes) return;
    if (performance.now() > end) break;
    await wait(LOOKS_EACH_MS);
  }
  throw new UserError("NODE_PART_NOT_STARTED", await sentence(api), cure);
}

const cure = `kubectl -n ${SYSTEM_NAMESPACE} get pods -o wide shows all of them. If the agent finds no NVIDIA driver, name the RuntimeClass of NVIDIA's container runtime by --runtime-class, or keep the node out by its label.`;

async function sentence(api: Api): Promise<string> {
  const { items } = await api.list<NodePod>(
    `/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods?labelSelector=app.kubernetes.io/component%3Dnode`,
  );
  const down = items.flatMap(({ spec, status }) => {
    const one = status.containerStatuses?.find(({ ready }) => !ready);
    return one ? [{ node: spec.nodeName ?? "no node", ...one }] : [];
  });
  const [first] = down;
  if (first === undefined) return "Everything is installed, but the node part did not come up.";
  const { terminated } = first.lastState ?? {};
  const why =
    terminated?.message ??
    first.state?.waiting?.message ??
    first.state?.waiting?.reason ??
    "it is not ready";
  const more = down.length > 1 ? `, and that of ${down.length - 1} more nodes neither` : "";
  return `Everything is installed, but the container ${first.name} of the node ${first.node} does not run${more}: ${why.trim().slice(-LONGEST_CAUSE)}`;
}
