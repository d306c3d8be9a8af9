// Processes on a GPU that hold no slot here. Some are clients of another agent, of another run directory: then neither agent
// knows of the other's requests, and what either promises is void.
import { closeSync, readSync } from "node:fs";
import { constants, Header, view } from "#protocol";
import { REGION_LINK } from "../gpus/region.ts";
import type { GpuReading } from "../sensor.ts";
import { commandOf, nameOf, openFilesOf, openMemoryFile, startTimeOf } from "../system/index.ts";
import { type Identity, identityOf } from "./identity.ts";

export interface Stranger {
  readonly pid: number;
  readonly name: string;
  /** undefined: the driver does not say it. */
  readonly memory: number | undefined;
  /** The other agent that it is a client of; undefined where that is not so, or not to be seen. */
  readonly agentPid: number | undefined;
  /** Its command line, cut after some length; undefined where it can't be read. */
  readonly command: string | undefined;
  /** undefined: it has ended, or the agent has no descriptor left to look. */
  readonly identity: Identity | undefined;
}

type Reading = Pick<GpuReading, "uuid" | "processes">;

/** Under MPS its server holds the clients' contexts; it is nobody's job. */
const MPS_SERVER = "nvidia-cuda-mps";

/**
 * To look into a process's open files takes a millisecond or so. Each process is looked into when it is new, a second later,
 * and then each time that it has been there for twice as long: it may have become a client of another agent since.
 */
const FIRST_AGAIN = 1e9; // ns

interface Known {
  readonly startTime: number | undefined;
  readonly facts: Omit<Stranger, "memory">;
  readonly since: number;
  readonly lookAgain: number;
}

export class Strangers {
  readonly #ownPid: number;
  readonly #now: () => number;
  #known = new Map<number, Known>();
  /** Those that the last look found, by GPU and process. The value says whether they have been told. */
  #found = new Map<string, boolean>();

  constructor(ownPid: number, now: () => number) {
    this.#ownPid = ownPid;
    this.#now = now;
  }

  /** `clients`: the pids of those who hold a slot on any GPU. */
  on(reading: Reading | undefined, clients: ReadonlySet<number>): readonly Stranger[] {
    return (reading?.processes ?? [])
      .filter(({ pid }) => !clients.has(pid))
      .map(({ pid, memory }) => ({ ...this.#lookAt(pid).facts, memory }))
      .filter(({ name }) => !name.startsWith(MPS_SERVER));
  }

  /**
   * Whom nobody was told of yet, each once for each GPU. Call it a few times a second: only who was there at the call before,
   * too, is told of, since a client is on the GPU for a moment before it attaches.
   */
  untold(
    readings: readonly Reading[],
    clients: ReadonlySet<number>,
  ): readonly (Stranger & { readonly gpu: string })[] {
    const found = readings.flatMap((reading) =>
      this.on(reading, clients).map((stranger) => ({ ...stranger, gpu: reading.uuid })),
    );
    const before = this.#found;
    const keyOf = ({ gpu, pid }: { readonly gpu: string; readonly pid: number }) =>
      `${gpu} ${pid} ${this.#known.get(pid)?.startTime}`;
    const untold = found.filter(
      (one) =>
        before.get(keyOf(one)) === false && this.#known.get(one.pid)?.startTime !== undefined,
    );
    this.#found = new Map(found.map((one) => [keyOf(one), before.has(keyOf(one))]));
    const here = new Set(found.map(({ pid }) => pid));
    this.#known = new Map([...this.#known].filter(([pid]) => here.has(pid)));
    return untold;
  }

  #lookAt(pid: number): Known {
    const now = this.#now();
    const startTime = startTimeNow(pid);
    const last = this.#known.get(pid);
    const same = last?.startTime === startTime ? last : undefined;
    if (same && now < same.lookAgain) return same;
    const since = same?.since ?? now;
    const known = {
      startTime,
      facts: {
        pid,
        name: nameOf(pid),
        command: commandOf(pid),
        agentPid: agentsOf(pid).find((agent) => agent !== this.#ownPid),
        identity: identityNow(pid),
      },
      since,
      lookAgain: now + Math.max(FIRST_AGAIN, now - since),
    };
    this.#known.set(pid, known);
    return known;
  }
}

function identityNow(pid: number): Identity | undefined {
  try {
    return identityOf(pid);
  } catch {
    return undefined;
  }
}

/** Living agents whose memory a process has open. */
const agentsOf = (pid: number): readonly number[] =>
  openFilesOf(pid, REGION_LINK)
    .flatMap((path) => agentServing(path) ?? [])
    .filter((agent) => startTimeNow(agent) !== undefined);

function agentServing(path: string): number | undefined {
  const fd = openMemoryFile(path, "read");
  if (fd === undefined) return undefined;
  try {
    const bytes = new ArrayBuffer(Header.size);
    const whole = readSync(fd, new Uint8Array(bytes), 0, Header.size, 0) === Header.size;
    const isHeader = new BigInt64Array(bytes)[Header.offsets.magic >> 3] === constants.MAGIC;
    return whole && isHeader ? view(Header, bytes).agentPid : undefined;
  } finally {
    closeSync(fd);
  }
}

/** undefined where that process is gone, or can't be looked at now. */
function startTimeNow(pid: number): number | undefined {
  try {
    return startTimeOf(pid);
  } catch {
    return undefined;
  }
}
