// The client parks by itself (native/interposer/parking/parking.cpp); the agent only counts
// commands in the client's slot.

import { isCalled, jobsCalled } from "../gpus/called.ts";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import { parseUuid } from "../gpus/region.ts";

export type ParkCommand = "park" | "resume";

export interface SentCommand {
  readonly gpu: string;
  readonly pid: number;
  readonly name: string;
  /** The client repeats this number when it has carried out the command. */
  readonly asked: number;
}

/** A move is of one process, and all else of a job. */
export function askClients(
  gpus: readonly ServedGpu[],
  called: string,
  wish: ParkCommand,
  to?: string,
): readonly SentCommand[] {
  const found = jobsCalled(gpus, "best-effort", called);
  return found
    .filter(({ client }) => to === undefined || isCalled(client, called))
    .map(({ gpu, client }) => ask(gpu, client, wish, { to }));
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
