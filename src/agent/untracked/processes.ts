// A process may be a client of another agent. Then neither agent knows of the other's requests, and
// neither can keep its promises.
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
  readonly memory: number | undefined; // undefined: the driver does not tell
  readonly agentPid: number | undefined; // undefined also if it can't be seen
  readonly command: string | undefined;
  readonly because: string | undefined; // says why it has no slot although it was made a client
  readonly launch: number | undefined;
  readonly identity: Identity | undefined;
}

type Reading = Pick<GpuReading, "uuid" | "processes">;

/** This MPS server holds the contexts of its clients and is no job of its own. */
const MPS_SERVER = "nvidia-cuda-mps";

// Reading open files takes about a millisecond, so it is done when a process is new, a second
// later, and after twice as long each time: it may have become another agent's client.
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
  #found = new Map<string, boolean>();

  constructor(ownPid: number, now: () => number) {
    this.#ownPid = ownPid;
    this.#now = now;
  }

  on(reading: Reading | undefined, clients: ReadonlySet<number>): readonly UntrackedProcess[] {
    return (reading?.processes ?? [])
      .filter(({ pid }) => !clients.has(pid))
      .map(({ pid, memory }) => ({ ...this.#lookAt(pid).facts, memory }))
      .filter(({ name }) => !name.startsWith(MPS_SERVER));
  }

  /**
   * A client is on the GPU for a moment before it attaches, so only a process that was there at the
   * previous call is reported.
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

function startTimeNow(pid: number): number | undefined {
  try {
    return startTimeOf(pid);
  } catch {
    return undefined;
  }
}
