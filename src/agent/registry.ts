// Who is attached, on which GPU: answers each client's Hello, takes slots back, and after a restart
// finds the regions of the last agent again. It knows nothing of sockets (socket.ts) and keeps no time.
import {
  type ClientClass,
  classes,
  constants,
  type Hello,
  helloKinds,
  type View,
  welcomeStatus,
} from "#protocol";
import { type Applicant, type Client, ServedGpu } from "./gpu.ts";
import type { Log } from "./log.ts";
import { createRegion, formatUuid, openRegion, REGION_LINK, type SharedRegion } from "./region.ts";
import { inodeOfMemoryFile, isAlive, openFilesOf, printable } from "./system/index.ts";
import {
  type Admission,
  describeIdentity,
  type Identity,
  tenantOf,
  type Verdict,
} from "./tenants/index.ts";

/** What becomes of a Hello: the fields of the Welcome, and whom to release when the client hangs up. */
export interface Reply {
  readonly status: number;
  readonly slot: number;
  /** Sent along, a descriptor of this process; -1: none. */
  readonly regionFd: number;
  readonly reason: string;
  readonly holder?: { readonly gpu: ServedGpu; readonly client: Client };
}

/** What an agent notes about a region so that the next one finds it. */
export interface RegionRecord {
  readonly uuid: string;
  readonly inode: number;
  readonly clients: readonly { readonly pid: number; readonly startTime: number }[];
}

interface Surroundings {
  readonly agentPid: number;
  readonly now: () => number;
  readonly log: Log;
  /** Writes the rules into a GPU's memory before its first client may look at them. */
  readonly prepare: (gpu: ServedGpu) => void;
  /** Whether there is such a GPU; undefined where nobody can tell. */
  readonly knows: (uuid: string) => boolean | undefined;
  readonly admission: Admission;
}

/** Of GPUs that nobody can vouch for: each costs a descriptor and a region. */
const MOST_UNKNOWN_GPUS = 8;

export class Registry {
  readonly #gpus = new Map<string, ServedGpu>();
  readonly #around: Surroundings;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  get gpus(): readonly ServedGpu[] {
    return [...this.#gpus.values()];
  }

  records(): readonly RegionRecord[] {
    return this.gpus.map(({ uuid, region, clients }) => ({
      uuid,
      inode: region.inode,
      clients: clients.map(({ pid, startTime }) => ({ pid, startTime })),
    }));
  }

  /** Takes over what the last agent left, through the first living client that still has it open. */
  adopt(records: readonly RegionRecord[]): void {
    for (const { uuid, inode, clients } of records)
      for (const { pid } of clients) {
        const path = openFilesOf(pid, REGION_LINK).find(
          (file) => inodeOfMemoryFile(file) === inode,
        );
        const region = path && openRegion(path, uuid, this.#around.agentPid);
        if (!region) continue;
        this.#serveAdopted(region);
        break;
      }
    this.#retireEmpty();
  }

  /** `file`: where this process finds the descriptor that came along. */
  answer(hello: View<typeof Hello>, identity: Identity, file?: string): Reply {
    const error = errorIn(hello);
    if (error) return refusal(error);
    const reply = this.#admit(hello, identity, file);
    this.#retireEmpty();
    return reply;
  }

  #admit(hello: View<typeof Hello>, identity: Identity, file: string | undefined): Reply {
    const kind = classNames.get(hello.class) ?? "best-effort";
    const verdict = this.#judge(hello, identity, kind);
    if (verdict.refusal !== undefined) {
      const facts = { pid: identity.pid, class: kind, because: verdict.refusal };
      this.#around.log("refused", facts);
      return refusal(verdict.refusal);
    }
    const applicant = applicantOf(hello, identity, verdict);
    const elsewhere = this.gpus.find(
      ({ uuid, clients }) =>
        uuid !== formatUuid(hello.gpuUuid) &&
        clients.some((client) => client.class === "best-effort" && isSame(client, applicant)),
    );
    if (applicant.class === "best-effort" && elsewhere) return refusal(oneGpuOnly);

    const gpu = this.#gpuOf(hello, file);
    if (typeof gpu === "string") return refusal(gpu);
    return hello.kind === helloKinds.reattach
      ? this.#reattach(gpu, applicant, hello.slot, file)
      : this.#attach(gpu, applicant);
  }

  #judge(hello: View<typeof Hello>, identity: Identity, kind: ClientClass): Verdict {
    const tenant = tenantOf(identity);
    const held = (this.#gpus.get(formatUuid(hello.gpuUuid))?.clients ?? []).filter(
      (client) =>
        client.identity &&
        tenantOf(client.identity) === tenant &&
        !(client.pid === identity.pid && client.startTime === hello.startTime),
    );
    return this.#around.admission.judge(identity, kind, held.length);
  }

  hangUp(gpu: ServedGpu, client: Client): void {
    if (gpu.at(client.class, client.slot) !== client) return; // its slot went to somebody else
    gpu.release(client, this.#around.now());
    this.#around.log("released", { ...naming(gpu, client), because: "hung up" });
    this.#retireEmpty();
  }

  /** Once a second: repairs the memory, and looks after those who have no connection. */
  heal(): void {
    for (const gpu of this.gpus) {
      gpu.heal(this.#around.agentPid, this.#around.now());
      for (const client of gpu.clients)
        if (!client.connected && !isAlive(client.pid, client.startTime)) {
          gpu.release(client, this.#around.now());
          this.#around.log("released", { ...naming(gpu, client), because: "its process ended" });
        }
    }
    this.#retireEmpty();
  }

  /** What nobody uses any more is given back: the next client of that GPU gets memory anew. */
  #retireEmpty(): void {
    for (const gpu of this.gpus.filter(({ clients }) => clients.length === 0)) {
      this.#gpus.delete(gpu.uuid);
      gpu.region.close();
      this.#around.log("serving no more", { gpu: gpu.uuid, because: "its last client is gone" });
    }
  }

  #attach(gpu: ServedGpu, applicant: Applicant): Reply {
    // The same process again (it replaced itself by exec): its old slot is free, whatever its
    // old connection says later.
    for (const former of gpu.clients.filter((client) => isSame(client, applicant)))
      gpu.release(former, this.#around.now());
    const client = gpu.take(applicant, this.#around.now());
    if (!client) return this.#full(gpu, applicant.class);
    this.#around.log("attached", naming(gpu, client));
    return {
      status: welcomeStatus.ok,
      slot: client.slot,
      regionFd: gpu.region.fd,
      reason: "",
      holder: { gpu, client },
    };
  }

  #reattach(gpu: ServedGpu, applicant: Applicant, slot: number, file: string | undefined): Reply {
    const holder = gpu.at(applicant.class, slot);
    const sameRegion = file !== undefined && inodeOfMemoryFile(file) === gpu.region.inode;
    if (!sameRegion || !holder || !isSame(holder, applicant)) {
      const reason = "That is not the region served here any more: attach again.";
      return { status: welcomeStatus.newRegion, slot: -1, regionFd: -1, reason };
    }
    const client = gpu.reattach(applicant, slot);
    this.#around.log("reattached", naming(gpu, client));
    return {
      status: welcomeStatus.ok,
      slot,
      regionFd: gpu.region.fd,
      reason: "",
      holder: { gpu, client },
    };
  }

  #full(gpu: ServedGpu, kind: ClientClass): Reply {
    const places = kind === "high" ? constants.MAX_HIGH : constants.MAX_BEST_EFFORT;
    const reason = `All ${places} places for ${kind} clients on ${gpu.uuid} are taken.`;
    return { status: welcomeStatus.full, slot: -1, regionFd: -1, reason };
  }

  /** The GPU of a Hello: served already, or in memory that this client still has, or new. Or why there is none. */
  #gpuOf(hello: View<typeof Hello>, file: string | undefined): ServedGpu | string {
    const uuid = formatUuid(hello.gpuUuid);
    const served = this.#gpus.get(uuid);
    if (served) return served;
    const known = this.#around.knows(uuid);
    if (known === false) return `The driver of this machine knows of no GPU ${uuid}.`;
    if (known === undefined && this.#gpus.size >= MOST_UNKNOWN_GPUS)
      return `This agent serves ${MOST_UNKNOWN_GPUS} GPUs already, and can't tell whether there is one ${uuid}.`;
    if (hello.kind === helloKinds.reattach && file !== undefined) {
      const region = openRegion(file, uuid, this.#around.agentPid);
      if (region) return this.#serveAdopted(region);
    }
    const name = printable(hello.gpuName);
    const identity = { uuid: hello.gpuUuid.slice(), name, smCount: hello.smCount };
    try {
      const gpu = new ServedGpu(identity, createRegion(identity, this.#around.agentPid));
      return this.#serve(gpu, "a client came");
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#around.log("not served", { gpu: uuid, because: why });
      return `The agent can't make memory for the GPU ${uuid}: ${why}.`;
    }
  }

  #serveAdopted(region: SharedRegion): ServedGpu {
    const { gpuUuid, gpuName, smCount } = region.memory.header;
    const name = printable(gpuName);
    const gpu = new ServedGpu({ uuid: gpuUuid.slice(), name, smCount }, region);
    gpu.recall(this.#around.now());
    gpu.heal(this.#around.agentPid, this.#around.now());
    return this.#serve(gpu, "adopted from a client");
  }

  #serve(gpu: ServedGpu, because: string): ServedGpu {
    this.#gpus.set(gpu.uuid, gpu);
    this.#around.prepare(gpu);
    this.#around.log("serving", { gpu: gpu.uuid, clients: gpu.clients.length, because });
    return gpu;
  }
}

const oneGpuOnly =
  "A best-effort client on several GPUs is refused for now: one paused rank would leave the others spinning. Set CUDA_VISIBLE_DEVICES to one GPU.";

export const refusal = (reason: string): Reply => ({
  status: welcomeStatus.refused,
  slot: -1,
  regionFd: -1,
  reason,
});

/** What is wrong with a whole Hello of our version; undefined when nothing is. */
function errorIn(hello: View<typeof Hello>): string | undefined {
  if (!Object.values<number>(helloKinds).includes(hello.kind))
    return `There is no Hello of kind ${hello.kind}.`;
  if (!classNames.has(hello.class)) return `There is no class ${hello.class}.`;
  return undefined;
}

const classNames: ReadonlyMap<number, ClientClass> = new Map([
  [classes.high, "high"],
  [classes["best-effort"], "best-effort"],
]);

function applicantOf(hello: View<typeof Hello>, identity: Identity, { grant }: Verdict): Applicant {
  const kind = classNames.get(hello.class) ?? "best-effort";
  const { p99Us = 0, slowdown = 0 } = grant.objective ?? {
    p99Us: hello.sloP99Us,
    slowdown: hello.sloSlowdownPermille / 1000,
  };
  return {
    class: kind,
    pid: identity.pid,
    startTime: hello.startTime,
    name: printable(hello.name),
    memoryQuota: kind === "high" ? 0 : smallerLimit(hello.memoryQuota, grant.memory),
    sloP99Us: p99Us,
    sloSlowdownPermille: Math.round(slowdown * 1000),
    soloUs: hello.soloUs,
    gpuSharePermille: hello.gpuSharePermille,
    training: hello.training === 1,
    identity,
    grant: grant.name,
  };
}

/** Of two limits, of which 0 is none. */
const smallerLimit = (one: number, other: number): number =>
  one === 0 || other === 0 ? Math.max(one, other) : Math.min(one, other);

const isSame = (client: Client, applicant: Applicant) =>
  client.class === applicant.class &&
  client.pid === applicant.pid &&
  client.startTime === applicant.startTime;

const naming = (gpu: ServedGpu, client: Client) => ({
  client: client.name,
  class: client.class,
  pid: client.pid,
  slot: client.slot,
  gpu: gpu.uuid,
  ...(client.identity ? { of: describeIdentity(client.identity) } : {}),
});
