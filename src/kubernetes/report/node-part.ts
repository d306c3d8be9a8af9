import type { Api } from "../api/client.ts";
import { SYSTEM_NAMESPACE } from "../labels/names.ts";

export interface NodePart {
  readonly selector: string;
  readonly nodes: number;
  readonly ready: number;
}

interface DaemonSet {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly nodeSelector?: Readonly<Record<string, string>> };
    };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly desiredNumberScheduled?: number;
    readonly numberReady?: number;
  };
}

/** undefined: it is not installed, or Kubernetes has not looked for nodes yet. */
export async function nodePartOf(api: Api): Promise<NodePart | undefined> {
  const found = await api.find<DaemonSet>(
    `/apis/apps/v1/namespaces/${SYSTEM_NAMESPACE}/daemonsets/cotenant-node`,
  );
  if (found?.status?.observedGeneration === undefined) return undefined;
  const labels = Object.entries(found.spec.template.spec.nodeSelector ?? {});
  return {
    selector: labels.map(([name, value]) => `${name}=${value}`).join(","),
    nodes: found.status.desiredNumberScheduled ?? 0,
    ready: found.status.numberReady ?? 0,
  };
}

export function nodePartAdvice(part: NodePart | undefined): string | undefined {
  if (part?.nodes !== 0) return undefined;
  const { selector } = part;
  return selector === ""
    ? "No node takes the node part, so no GPU is shared: kubectl -n cotenant-system describe daemonset cotenant-node says why."
    : `No node has the label ${selector}, so no GPU is shared: set it on the nodes with GPUs, as in kubectl label node NAME ${selector.replaceAll(",", " ")}.`;
}
