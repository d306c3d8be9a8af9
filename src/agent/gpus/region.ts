// The `Region` is composed of files: each has one set of writers and is sent to those only
// (decision 0012). All are sealed, because reading past the end of a shrunk mapping raises SIGBUS.
import { closeSync, fstatSync, ftruncateSync } from "node:fs";
import { UserError } from "#core";
import { type ClientClass, constants, Header, Region, ruleNames, type View, view } from "#protocol";
import {
  createMemoryFile,
  MappedRange,
  openMemoryFile,
  pidNamespace,
  SIZE_SEALS,
  sealSize,
  sealsOf,
  sealWrites,
} from "../system/index.ts";

export const REGION_LINK = "/memfd:cotenant";

export interface GpuIdentity {
  readonly uuid: Uint8Array;
  readonly name: string;
  readonly smCount: number;
}

export interface Part {
  readonly kind: ClientClass | "hold";
  readonly slot: number;
}

interface Place {
  readonly offset: number;
  readonly size: number;
}

export const common: Place = { offset: 0, size: Region.offsets.holds };

const { holds, high, bestEffort } = Region.fields;

export function placeOf({ kind, slot }: Part): Place {
  const [first, { size }] =
    kind === "hold"
      ? [Region.offsets.holds, holds.struct]
      : kind === "high"
        ? [Region.offsets.high, high.struct]
        : [Region.offsets.bestEffort, bestEffort.struct];
  return { offset: first + slot * size, size };
}

const nameOf = ({ kind, slot }: Part) => `${kind} ${slot}`;

export class SharedRegion {
  readonly fd: number;
  readonly memory: View<typeof Region>;
  readonly address: bigint;
  readonly #range = new MappedRange(Region.size);
  readonly #words: Int32Array;
  readonly #files = new Map<string, number>();

  constructor(gpu: GpuIdentity, agentPid: number) {
    this.address = this.#range.address;
    this.#words = new Int32Array(this.#range.buffer);
    this.memory = view(Region, this.#range.buffer);
    this.fd = this.#create("cotenant", common, (fd) => {
      this.#range.put(fd, common.offset, common.size);
      sealWrites(fd);
    });
    this.#writeHeader(gpu, agentPid);
  }

  #writeHeader(gpu: GpuIdentity, agentPid: number): void {
    const { header } = this.memory;
    header.version = constants.VERSION;
    header.revision = constants.REVISION;
    this.memory.settings.known = ruleNames.length;
    header.size = Region.size;
    header.agentPid = agentPid;
    header.pidNamespace = pidNamespace();
    header.smCount = gpu.smCount;
    header.gpuUuid.set(gpu.uuid);
    header.gpuName = gpu.name;
    // The magic number is written last, so that a half-made region is not taken for a whole one.
    const magic = (Region.offsets.header + Header.offsets.magic) >> 3;
    Atomics.store(new BigInt64Array(this.#range.buffer), magic, constants.MAGIC);
  }

  #create(name: string, { size }: Place, prepare: (fd: number) => void): number {
    const fd = createMemoryFile(name);
    try {
      ftruncateSync(fd, size);
      prepare(fd);
      sealSize(fd);
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  add(part: Part): void {
    const place = placeOf(part);
    const name = `cotenant-${nameOf(part).replace(" ", "-")}`;
    const fd = this.#create(name, place, (made) => this.#range.put(made, place.offset, place.size));
    this.#keep(part, fd);
  }

  /** Returns false unless the file's size is the part's and sealed, and no other client has it. */
  takeOver(part: Part, path: string): boolean {
    const fd = openMemoryFile(path, "write");
    if (fd === undefined) return false;
    const place = placeOf(part);
    try {
      const { size, ino } = fstatSync(fd);
      const isSealed = (sealsOf(fd) & SIZE_SEALS) === SIZE_SEALS;
      // All memory files are in one file system, where inode numbers are unique.
      const isTaken = [...this.#files.values()].some((taken) => fstatSync(taken).ino === ino);
      if (!isSealed || size !== place.size || isTaken) throw new Error("another file");
      this.#range.put(fd, place.offset, place.size);
    } catch {
      closeSync(fd);
      return false;
    }
    this.#keep(part, fd);
    return true;
  }

  #keep(part: Part, fd: number): void {
    const former = this.#files.get(nameOf(part));
    if (former !== undefined) closeSync(former);
    this.#files.set(nameOf(part), fd);
  }

  file(part: Part): number | undefined {
    return this.#files.get(nameOf(part));
  }

  remove(part: Part): void {
    const fd = this.#files.get(nameOf(part));
    if (fd === undefined) return;
    const { offset, size } = placeOf(part);
    this.#range.clear(offset, size);
    this.#files.delete(nameOf(part));
    closeSync(fd);
  }

  setActive(bestEffortSlot: number, highSlot: number, active: boolean): void {
    const { offset } = placeOf({ kind: "hold", slot: bestEffortSlot });
    const word = ((offset + holds.struct.offsets.active) >> 2) + (highSlot >> 5);
    const bit = 1 << (highSlot & 31);
    if (active) Atomics.or(this.#words, word, bit);
    else Atomics.and(this.#words, word, ~bit);
  }

  isActive(bestEffortSlot: number, highSlot: number): boolean {
    const { offset } = placeOf({ kind: "hold", slot: bestEffortSlot });
    const word = ((offset + holds.struct.offsets.active) >> 2) + (highSlot >> 5);
    return (Atomics.load(this.#words, word) & (1 << (highSlot & 31))) !== 0;
  }

  /** Returns false if another thread handed the turn on first. */
  passTurn(from: number, to: number): boolean {
    const { roster } = Region.fields;
    const word = (Region.offsets.roster + roster.struct.offsets.turn) >> 2;
    return Atomics.compareExchange(this.#words, word, from, to) === (from | 0);
  }

  close(): void {
    closeSync(this.fd);
    for (const fd of this.#files.values()) closeSync(fd);
    this.#files.clear();
  }
}

/** Throws a UserError if this kernel can't keep clients from writing the agent's memory. */
export function checkKernel(): void {
  const fd = createMemoryFile("cotenant-trial");
  try {
    if (!sealWrites(fd)) throw oldKernel();
  } finally {
    closeSync(fd);
  }
}

const oldKernel = () =>
  new UserError(
    "OLD_KERNEL",
    "This kernel is older than Linux 5.1: an agent of the machine could not keep clients from changing its rules.",
    "Give each user an agent of their own (`cotenant up` without --system).",
  );

export function formatUuid(uuid: Uint8Array): string {
  const hex = Buffer.from(uuid).toString("hex");
  return `GPU-${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function parseUuid(text: string): Uint8Array | undefined {
  const hex = text.replace(/^GPU-/, "").replaceAll("-", "");
  return /^[0-9a-f]{32}$/.test(hex) ? Uint8Array.from(Buffer.from(hex, "hex")) : undefined;
}
