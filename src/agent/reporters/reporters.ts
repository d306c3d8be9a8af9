// Some processes report a service's requests and do not use its GPU, such as an engine's API
// server. Each has a memory file with the counters of a high client, so a report costs no message.
import { closeSync, ftruncateSync } from "node:fs";
import type { RequestKind } from "#policy";
import { HighSlot, type View, view } from "#protocol";
import type { Client } from "../gpus/gpu.ts";
import type { Log } from "../log/log.ts";
import {
  createMemoryFile,
  isDescendant,
  MappedRange,
  type Process,
  sealSize,
} from "../system/index.ts";
import { describeIdentity, type Identity } from "../tenants/index.ts";

export type RequestCounters = Pick<
  View<typeof HighSlot>,
  "requestValues" | "requestsOpen" | "requestsFailed" | "requestsForgotten" | RequestKind
>;

export interface Applying extends Process {
  readonly name: string;
  readonly identity: Identity;
}

export interface Reporter extends Applying {
  readonly fd: number;
  readonly counters: RequestCounters;
}

type Service = Pick<Client, "pid" | "startTime" | "name" | "identity" | "class">;

export class Reporters {
  readonly #open = new Set<Reporter>();
  /** The answer is kept, because what /proc says of living processes does not become true later. */
  readonly #belongs = new WeakMap<Service, WeakMap<Reporter, boolean>>();

  readonly #log: Log;

  constructor(log: Log = () => {}) {
    this.#log = log;
  }

  /** Throws if the memory or a descriptor cannot be had. */
  add(applying: Applying): Reporter {
    const fd = createMemoryFile("cotenant-requests");
    try {
      ftruncateSync(fd, HighSlot.size);
      const range = new MappedRange(HighSlot.size);
      range.put(fd, 0, HighSlot.size);
      sealSize(fd);
      const reporter = { ...applying, fd, counters: view(HighSlot, range.buffer) };
      this.#open.add(reporter);
      const { name, pid, identity } = applying;
      this.#log("reports", { client: name, pid, of: describeIdentity(identity) });
      return reporter;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  remove(reporter: Reporter): void {
    if (this.#open.delete(reporter)) closeSync(reporter.fd);
  }

  of(client: Service): readonly Reporter[] {
    if (client.class !== "high" || this.#open.size === 0) return [];
    const known = this.#belongs.get(client) ?? new WeakMap<Reporter, boolean>();
    this.#belongs.set(client, known);
    return [...this.#open].filter((reporter) => {
      const before = known.get(reporter);
      if (before !== undefined) return before;
      try {
        const belongs = isOfService(reporter, client);
        known.set(reporter, belongs);
        return belongs;
      } catch {
        return false; // the agent cannot open files now, and asks again
      }
    });
  }
}

function isOfService(reporter: Applying, client: Service): boolean {
  const { identity } = client;
  if (!identity || identity.uid !== reporter.identity.uid || client.name !== reporter.name)
    return false;
  const { container } = identity;
  return (
    (container !== undefined && container === reporter.identity.container) ||
    isDescendant(reporter, client) ||
    isDescendant(client, reporter)
  );
}
