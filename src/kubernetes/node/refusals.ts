// An event about this node for each GPU that can't be shared any more, once for each cause.
import type { Api } from "../api/client.ts";
import { eventAboutNode } from "../api/event.ts";
import type { NodeGpu } from "./gpus.ts";
import { refusalOf } from "./slice.ts";

/** Returns what writes the events that are due now. It rejects when the API server does not take one; then it comes later. */
export function newRefusals(api: Api, node: string) {
  const told = new Map<string, string>();
  return async (gpus: readonly NodeGpu[], wallNow: number): Promise<void> => {
    for (const gpu of gpus) {
      // Behind the colon are values, which change.
      const cause = gpu.because?.split(":")[0];
      if (cause === undefined) told.delete(gpu.uuid);
      else if (told.get(gpu.uuid) !== cause) {
        await api.create(...eventAboutNode(node, "GpuNotShareable", refusalOf(gpu), wallNow));
        told.set(gpu.uuid, cause);
      }
    }
  };
}
