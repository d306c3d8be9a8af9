// Asks best-effort clients to park their memory in the host's, or to return it. The client does it by itself
// (native/interposer/movable/parking.cpp); the agent only counts its commands in the client's slot.
import type { Client, ServedGpu } from "../gpus/gpu.ts";

export type ParkCommand = "park" | "resume";

/** A client that was asked. */
export interface Asked {
  readonly gpu: string;
  readonly pid: number;
  readonly name: string;
  /** False: it was not started with --movable, and nothing was asked. */
  readonly movable: boolean;
  /** The number of this command, which the client repeats when it has dealt with it. */
  readonly asked: number;
}

/** Whether that is the client's name or pid. */
export const isCalled = (
  { name, pid }: { readonly name: string; readonly pid: number },
  called: string,
): boolean => name === called || String(pid) === called;

/** Asks each best-effort client of this name, or with this pid. */
export const askClients = (
  gpus: readonly ServedGpu[],
  called: string,
  wish: ParkCommand,
): readonly Asked[] =>
  gpus.flatMap((gpu) =>
    bestEffortOf(gpu)
      .filter((client) => isCalled(client, called))
      .map((client) => ask(gpu, client, wish)),
  );

export const bestEffortOf = (gpu: ServedGpu): readonly Client[] =>
  gpu.clients.filter((client) => client.class === "best-effort");

/** `bytes`: to be parked in all, whole allocations; 0: everything. */
export function ask(
  gpu: ServedGpu,
  { slot, pid, name }: Client,
  wish: ParkCommand,
  bytes = 0,
): Asked {
  const own = gpu.region.memory.bestEffort[slot]?.memory;
  const movable = own?.movable === 1;
  if (own && movable) {
    own.parkBytes = bytes;
    own.parkAsked = next(own.parkAsked, wish);
  }
  return { gpu: gpu.uuid, pid, name, movable, asked: own?.parkAsked ?? 0 };
}

/** Odd commands park, even ones return. The same wish again is a new command: a client that refused tries again. */
const next = (last: number, wish: ParkCommand): number => {
  const odd = wish === "park" ? 1 : 0;
  return (last + (last % 2 === odd ? 2 : 1)) >>> 0;
};
