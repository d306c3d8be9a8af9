import type { ClientClass } from "#protocol";
import { jobId } from "../jobs/job-name.ts";
import type { Client, ServedGpu } from "./gpu.ts";

export const isCalled = (
  { name, pid }: { readonly name: string; readonly pid: number },
  called: string,
): boolean => name === called || String(pid) === called;

interface Found<G> {
  readonly gpu: G;
  readonly client: Client;
}

/** Whoever calls one process of a job calls all of it. */
export function jobsCalled<G extends Pick<ServedGpu, "clients">>(
  gpus: readonly G[],
  kind: ClientClass,
  called: string,
): readonly Found<G>[] {
  const all = gpus.flatMap((gpu) =>
    gpu.clients.flatMap((client) => (client.class === kind ? { gpu, client } : [])),
  );
  const jobs = new Set(
    all.flatMap(({ client }) => (isCalled(client, called) ? jobId(client) : [])),
  );
  return all.filter(({ client }) => jobs.has(jobId(client)));
}
