// The device plugin that owns the GPUs names them by their UUIDs.
import { join } from "node:path";
import { GPU_RESOURCE } from "../labels/names.ts";
import { callAt } from "./kubelet/sockets.ts";
import { type PodResources, PodResourcesLister } from "./kubelet/wire.ts";
import type { Holder } from "./state/gpus.ts";

/** The key is the UUID. Rejects when kubelet does not answer. */
export async function holdersAt(kubelet: string): Promise<ReadonlyMap<string, Holder>> {
  const { podResources } = await callAt<{ readonly podResources: readonly PodResources[] }>(
    join(kubelet, "pod-resources/kubelet.sock"),
    PodResourcesLister,
    "List",
    {},
  );
  return holdersIn(podResources);
}

/** A GPU of which several pods have replicas is nobody's. */
function holdersIn(pods: readonly PodResources[]): ReadonlyMap<string, Holder> {
  const holders = new Map<string, Holder>();
  for (const { namespace, name, containers } of pods)
    for (const { resourceName, deviceIds } of containers.flatMap(({ devices }) => devices)) {
      // With time slicing its name is another one where the plugin renames replicas.
      if (resourceName !== GPU_RESOURCE && resourceName !== `${GPU_RESOURCE}.shared`) continue;
      for (const id of deviceIds) {
        // Replicas are called UUID::NUMBER.
        const [uuid = "", replica] = id.split("::");
        holders.set(uuid, { namespace, name, isReplica: replica !== undefined });
      }
    }
  return holders;
}
