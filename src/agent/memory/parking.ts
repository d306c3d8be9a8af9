// The client parks by itself (native/interposer/parking/parking.cpp); the agent only counts
// commands in the client's slot.
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import { parseUuid } from "../gpus/region.ts";
import { jobId } from "../jobs/job-name.ts";

export type ParkCommand = "park" | "resume";

export interface SentCommand {
  readonly gpu: string;
  readonly pid: number;
  readonly name: string;
  /** The client repeats this number when it has carried out the command. */
  readonly asked: number;
}

export const isCalled = (
  { name, pid }: { readonly name: string; readonly pid: number },
  called: string,
): boolean => name === called || String(pid) === called;

/** Whoever calls one process of a job calls all of it, but for a move, which is one process's. */
export function askClients(
  gpus: readonly ServedGpu[],
  called: string,
  wish: ParkCommand,
  to?: string,
): readonly SentCommand[] {
  const clients = gpus.flatMap((gpu) => bestEffortOf(gpu).map((client) => ({ gpu, client })));
  const named = clients.filter(({ client }) => isCalled(client, called));
  const jobs = new Set(named.map(({ client }) => jobId(client)));
  const asked = to === undefined ? clients.filter(({ client }) => jobs.has(jobId(client))) : named;
  return asked.map(({ gpu, client }) => ask(gpu, client, wish, { to }));
}

export const bestEffortOf = (gpu: ServedGpu): readonly Client[] =>
  gpu.clients.filter((client) => client.class === "best-effort");

interface How {
  readonly bytes?: number; // 0 parks everything
  readonly to?: string | undefined;
}

export function ask(
  gpu: ServedGpu,
  { slot, pid, name }: Client,
  wish: ParkCommand,
  { bytes = 0, to }: How = {},
): SentCommand {
  const own = gpu.region.memory.bestEffort[slot]?.memory;
  if (own) {
    own.parkBytes = bytes;
    own.moveTo.set(to === undefined ? OWN_GPU : (parseUuid(to) ?? OWN_GPU));
    own.parkAsked = next(own.parkAsked, wish);
  }
  return { gpu: gpu.uuid, pid, name, asked: own?.parkAsked ?? 0 };
}

const OWN_GPU = new Uint8Array(16);

/** Odd commands park, even ones return. A repeated wish makes a client that refused try again. */
const next = (last: number, wish: ParkCommand): number => {
  const odd = wish === "park" ? 1 : 0;
  return (last + (last % 2 === odd ? 2 : 1)) >>> 0;
};
