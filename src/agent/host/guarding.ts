import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { Log } from "../log/log.ts";
import type { HostGuard } from "./guard.ts";

/** A process in a container, a pod or a Slurm job has limits there, which it would escape. */
const limitedBy = ({ identity }: Client): string | undefined => {
  if (identity?.container !== undefined) return "a container";
  if (identity?.pod !== undefined) return "a pod";
  return identity?.slurmJob === undefined ? undefined : "a Slurm job";
};

export function guardClients(guard: HostGuard, log: Log): (gpus: readonly ServedGpu[]) => void {
  const seen = new WeakSet<Client>();
  return (gpus) => {
    for (const client of gpus.flatMap(({ clients }) => clients)) {
      if (client.class !== "best-effort" || seen.has(client) || !client.connected) continue;
      seen.add(client);
      const facts = { client: client.name, pid: client.pid };
      const by = limitedBy(client);
      const because =
        by === undefined ? guard.take(client.pid) : `it is in ${by}, which has limits of its own`;
      if (because !== undefined) log("not under the host guard", { ...facts, because });
    }
  };
}
