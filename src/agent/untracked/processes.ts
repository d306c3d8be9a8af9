// Processes on a GPU that hold no slot here. Some are clients of another agent, with another run directory. Then
// neither agent knows of the other's requests, and neither can keep its promises.
import { closeSync, readSync } from "node:fs";
import { constants, Header, view } from "#protocol";
import { REGION_LINK } from "../gpus/region.ts";
import type { GpuReading } from "../sensors/sensor.ts";
import { commandOf, nameOf, openFilesOf, openMemoryFile, startTimeOf } from "../system/index.ts";
import { type Identity, identityOf } from "../tenants/identity.ts";
import { unseenOf } from "./unseen.ts";

export interface UntrackedProcess {
  readonly pid: number;
  readonly name: string;
  /** undefined: the driver does not say it. */
  readonly memory: number | undefined;
  /** The other agent whose client it is; undefined if there is none, or if that cannot be seen. */
  readonly agentPid: number | undefined;
  /** Its command line, cut after some length; undefined if it cannot be read. */
  readonly command: string | undefined;
  /** Why it holds no slot although it was made a client; undefined: nobody made it one. */
  readonly because: string | undefined;
  /** The pid of the program of `cotenant run` that it is, or is a child of. */
  readonly launch: number | undefined;
  /** undefined: it has ended, or the agent has no descriptor left to read it. */
  readonly identity: Identity | undefined;
}

type Reading = Pick<GpuReading, "uuid" | "processes">;

/** Under MPS this server holds the contexts of its clients. It is no job of its own. */
const MPS_SERVER = "nvidia-cuda-mps";

/**
 * Reading a process's open files takes about a millisecond. They are read when the process is new, a second later, and
 * then whenever it has been there for twice as long. It may have become a client of another agent meanwhile.
 */
const FIRST_AGAIN = 1e9; // ns

interface Found {
  readonly startTime: number | undefined;
  readonly facts: Omit<UntrackedProcess, "memory">;
  readonly since: number;
  readonly lookAgain: number;
}

export class UntrackedProcesses {
  readonly #ownPid: number;
  readonly #now: () => number;
  #known = new Map<number, Found>();
  /** The untracked processes that the last sample found, by GPU and process. The value says whether they have been reported. */
  #found = new Map<string, boolean>();

  constructor(ownPid: number, now: () => number) {
    this.#ownPid = ownPid;
    this.#now = now;
  }

  /** `clients`: the pids of the processes that hold a slot on any GPU. */
  on(reading: Reading | undefined, clients: ReadonlySet<number>): readonly UntrackedProcess[] {
    return (reading?.processes ?? [])
      .filter(({ pid }) => !clients.has(pid))
      .map(({ pid, memory }) => ({ ...this.#lookAt(pid).facts, memory }))
      .filter(({ name }) => !name.startsWith(MPS_SERVER));
  }

  /**
   * UntrackedProcesses that were not reported yet, each once for each GPU. Must be called a few times a second. A client is on
   * the GPU for a moment before it attaches, so only a process that was there at the previous call too is reported.
   */
  takeUnreported(
    readings: readonly Reading[],
    clients: ReadonlySet<number>,
  ): readonly (UntrackedProcess & { readonly gpu: string })[] {
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

  #lookAt(pid: number): Found {
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
        ...unseenOf(pid),
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

/** The living agents whose memory a process has open. */
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

/** undefined if the process has ended, or cannot be read now. */
function startTimeNow(pid: number): number | undefined {
  try {
    return startTimeOf(pid);
  } catch {
    return undefined;
  }
}
