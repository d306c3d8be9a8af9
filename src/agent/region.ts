// The memory that the agent and the clients of one GPU share: a sealed memory file, so that nobody can
// shrink it under a client's feet (reading past the end of a mapped file is SIGBUS). Clients get a descriptor over the
// socket and keep it; they give it to a later agent.
// docs/design/decisions/0001-where-shared-memory-lives.md says why.
import { closeSync, fstatSync, ftruncateSync, readSync } from "node:fs";
import { constants, Header, Region, type View, view } from "#protocol";
import {
  createMemoryFile,
  mapShared,
  openMemoryFile,
  pidNamespace,
  SIZE_SEALS,
  sealSize,
  sealsOf,
} from "./system/index.ts";

/** How the memory file shows up in /proc/PID/fd. */
export const REGION_LINK = "/memfd:cotenant";

export interface GpuIdentity {
  /** 16 bytes, as the driver gives it. */
  readonly uuid: Uint8Array;
  readonly name: string;
  readonly smCount: number;
}

export class SharedRegion {
  readonly fd: number;
  readonly inode: number;
  readonly memory: View<typeof Region>;
  readonly #buffer: ArrayBuffer;
  readonly #words: Int32Array;

  /** Takes the descriptor over. */
  constructor(fd: number) {
    this.fd = fd;
    this.inode = fstatSync(fd).ino;
    this.#buffer = mapShared(fd, Region.size);
    this.#words = new Int32Array(this.#buffer);
    this.memory = view(Region, this.#buffer);
  }

  /** Makes the header say what it must, in an order in which a half-made one is not taken for whole. */
  writeHeader(gpu: GpuIdentity, agentPid: number, generation: number): void {
    const { header } = this.memory;
    header.version = constants.VERSION;
    header.size = Region.size;
    header.agentPid = agentPid;
    header.pidNamespace = pidNamespace();
    header.generation = generation;
    header.smCount = gpu.smCount;
    header.gpuUuid.set(gpu.uuid);
    if (header.gpuName !== gpu.name) header.gpuName = gpu.name;
    const magic = (Region.offsets.header + Header.offsets.magic) >> 3;
    Atomics.store(new BigInt64Array(this.#buffer), magic, constants.MAGIC);
  }

  setBits(word: ActivityBits, bits: number): void {
    Atomics.or(this.#words, activityWord(word), bits);
  }

  clearBits(word: ActivityBits, bits: number): void {
    Atomics.and(this.#words, activityWord(word), ~bits);
  }

  /** Hands the turn from one best-effort slot to another, unless somebody was faster. */
  passTurn(from: number, to: number): boolean {
    return Atomics.compareExchange(this.#words, activityWord("turn"), from, to) === (from | 0);
  }

  /** Nobody is to find it here any more. Who has it mapped goes on with it. */
  close(): void {
    closeSync(this.fd);
  }

  /** Fills `size` bytes with zeros; for a slot or a page that nobody uses. */
  clear(offset: number, size: number): void {
    new Uint8Array(this.#buffer, offset, size).fill(0);
  }
}

export type ActivityBits = "active" | "registered" | "waiting";

const activity = Region.fields.activity.struct;
const activityWord = (name: ActivityBits | "turn") =>
  (Region.offsets.activity + activity.offsets[name]) >> 2;

export function createRegion(gpu: GpuIdentity, agentPid: number): SharedRegion {
  const fd = createMemoryFile("cotenant");
  try {
    ftruncateSync(fd, Region.size);
    sealSize(fd);
    const region = new SharedRegion(fd);
    region.writeHeader(gpu, agentPid, 1);
    return region;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * The region of GPU `uuid` behind a client's descriptor, for the agent that comes after the one that made it; undefined when
 * it is gone or is not that GPU's region, of this version and with its size sealed.
 */
export function openRegion(path: string, uuid: string, agentPid: number): SharedRegion | undefined {
  const fd = openMemoryFile(path, "write");
  if (fd === undefined) return undefined;
  if (!isRegion(fd, uuid)) {
    closeSync(fd);
    return undefined;
  }
  const region = new SharedRegion(fd);
  const { header } = region.memory;
  header.agentPid = agentPid;
  header.pidNamespace = pidNamespace();
  header.generation = header.generation + 1;
  return region;
}

/** Looks before mapping: through the descriptor, so that a short file can't fault. */
function isRegion(fd: number, uuid: string): boolean {
  if ((sealsOf(fd) & SIZE_SEALS) !== SIZE_SEALS) return false;
  if (fstatSync(fd).size !== Region.size) return false;
  const bytes = new ArrayBuffer(Header.size);
  if (readSync(fd, new Uint8Array(bytes), 0, Header.size, 0) !== Header.size) return false;
  const header = view(Header, bytes);
  return (
    new BigInt64Array(bytes)[Header.offsets.magic >> 3] === constants.MAGIC &&
    header.version === constants.VERSION &&
    header.size === Region.size &&
    formatUuid(header.gpuUuid) === uuid
  );
}

/** "GPU-8a7b…", as NVML and nvidia-smi write it. */
export function formatUuid(uuid: Uint8Array): string {
  const hex = Buffer.from(uuid).toString("hex");
  return `GPU-${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
