// Sockets are in socket.ts, and the caller keeps the time.
import type { Nanos } from "#core";
import { objectiveTexts } from "#policy";
import {
  type ClientClass,
  classes,
  type Hello,
  helloKinds,
  type View,
  welcomeStatus,
} from "#protocol";
import { type Facts, type Log, withoutRepeats } from "../log/log.ts";
import { isAlive, printable } from "../system/index.ts";
import { type Admission, describeIdentity, type Identity, type Verdict } from "../tenants/index.ts";
import { applicantOf, classOf, errorIn, isSame } from "./applicant.ts";
import { type Applicant, type Client, type ClientRecord, ServedGpu } from "./gpu.ts";
import { formatUuid, type GpuIdentity, parseUuid } from "./region.ts";
import { allSlotsTaken, slotsOfTenant, vacancyOn } from "./vacancy.ts";

export interface Reply {
  readonly status: number;
  readonly slot: number;
  readonly files: readonly number[];
  readonly reason: string;
  readonly holder?: { readonly gpu: ServedGpu; readonly client: Client };
  readonly stays?: true;
}

export interface GpuRecord {
  readonly uuid: string;
  readonly name: string;
  readonly smCount: number;
  readonly clients: readonly ClientRecord[];
}

interface Surroundings {
  readonly agentPid: number;
  readonly now: () => Nanos;
  readonly log: Log;
  /** Writes the rules into a GPU's memory before its first client may read them. */
  readonly prepare: (gpu: ServedGpu) => void;
  readonly knows: (uuid: string) => boolean | undefined;
  readonly admission: Admission;
  /** It is called before an ended client loses its slot, which has its last counters. */
  readonly leaves?: (gpu: ServedGpu, client: Client) => void;
  readonly closedFor?: (uuid: string) => string | undefined;
  readonly heldFor?: (uuid: string) => string | undefined;
  readonly uuids?: () => readonly string[];
}

/** Each GPU whose existence cannot be checked costs descriptors and memory. */
const MAX_UNKNOWN_GPUS = 8;

export class Registry {
  readonly #gpus = new Map<string, ServedGpu>();
  readonly #around: Surroundings;
  readonly #logOnce: Log;

  constructor(around: Surroundings) {
    this.#around = around;
    this.#logOnce = withoutRepeats(around.log);
  }

  get gpus(): readonly ServedGpu[] {
    return [...this.#gpus.values()];
  }

  records(): readonly GpuRecord[] {
    return this.gpus.map(({ uuid, identity: { name, smCount }, clients }) => ({
      uuid,
      name,
      smCount,
      clients: clients.map((client) => ({
        class: client.class,
        slot: client.slot,
        pid: client.pid,
        startTime: client.startTime,
        name: client.name,
        statedSlo: client.isObjectiveStated ? objectiveTexts(client.objective) : undefined,
      })),
    }));
  }

  recall(records: readonly GpuRecord[]): void {
    for (const { uuid, name, smCount, clients } of records) {
      const living = clients.filter(({ pid, startTime }) => isAlive(pid, startTime));
      const bytes = parseUuid(uuid);
      if (living.length === 0 || !bytes) continue;
      try {
        const gpu = this.#serve({ uuid: bytes, name: printable(name), smCount }, "it was served");
        gpu.recall(living, this.#around.now());
      } catch (error) {
        this.#around.log("not served", { gpu: uuid, because: whyOf(error) });
      }
    }
  }

  /** `files`: paths under which this process finds the descriptors that came with the Hello. */
  answer(hello: View<typeof Hello>, identity: Identity, files: readonly string[] = []): Reply {
    const error = errorIn(hello);
    const reply = error ? refusal(error) : this.#replyTo(hello, identity, files);
    const { refused, full, later } = welcomeStatus;
    const waits = reply.status === later || reply.status === full;
    // Such a client asks again every second or two, so only the first time is logged.
    if (reply.status === refused || waits)
      this.#logOnce(waits && isBestEffort(hello) ? "waits" : "refused", {
        client: printable(hello.name),
        class: classOf(hello) ?? hello.class,
        pid: identity.pid,
        of: describeIdentity(identity),
        because: reply.reason,
      });
    this.#retireEmpty();
    return reply;
  }

  #replyTo(hello: View<typeof Hello>, identity: Identity, files: readonly string[]): Reply {
    if (hello.kind !== helloKinds.ask) return this.#admit(hello, identity, files);
    const kind = classOf(hello) ?? "best-effort";
    const applying = { identity, startTime: hello.startTime, class: kind };
    return { ...noSlot, ...vacancyOn(this.#namedBy(hello), this.gpus, applying, this.#around) };
  }

  #namedBy({ gpuUuid, gpuIndex }: View<typeof Hello>): readonly string[] {
    if (gpuUuid.slice().some((byte) => byte !== 0)) return [formatUuid(gpuUuid)];
    const all = this.#around.uuids?.() ?? [];
    return gpuIndex < 0 ? all : all.slice(gpuIndex, gpuIndex + 1);
  }

  #admit(hello: View<typeof Hello>, identity: Identity, files: readonly string[]): Reply {
    const kind = classOf(hello) ?? "best-effort";
    if (hello.holdsOnly === 1) return this.#admitToHold(hello, identity, files);
    const verdict = this.#judge(hello, identity, kind);
    if (verdict.refusal !== undefined) {
      this.#giveUpRecalled(applicantOf(hello, identity, verdict));
      return verdict.passes ? later(verdict.refusal) : refusal(verdict.refusal);
    }
    const applicant = this.#asStated(applicantOf(hello, identity, verdict));
    const elsewhere = this.gpus.find(
      ({ uuid, clients }) =>
        uuid !== formatUuid(hello.gpuUuid) &&
        clients.some((client) => client.class === "best-effort" && isSame(client, applicant)),
    );
    if (applicant.class === "best-effort" && elsewhere) return refusal(oneGpuOnly);

    const closed = hello.kind === helloKinds.attach && this.#closedFor(hello, applicant);
    if (closed) return later(closed);

    const gpu = this.#gpuOf(hello);
    return typeof gpu === "string" ? refusal(gpu) : this.#enter(hello, gpu, applicant, files);
  }

  /** Its own GPU's slot was granted by the rules of its tenant. */
  #admitToHold(hello: View<typeof Hello>, { pid }: Identity, files: readonly string[]): Reply {
    const uuid = formatUuid(hello.gpuUuid);
    const gpu = this.#gpus.get(uuid);
    const own = this.gpus
      .filter((one) => one !== gpu)
      .flatMap(({ clients }) => clients)
      .find(
        (client) =>
          client.class === "high" && client.pid === pid && client.startTime === hello.startTime,
      );
    if (!gpu || !own)
      return later(`No rank of a job on ${uuid} and another one of this process are known.`);
    return this.#enter(hello, gpu, { ...own, holdsOnly: true }, files);
  }

  #enter(
    { kind, slot }: View<typeof Hello>,
    gpu: ServedGpu,
    applicant: Applicant,
    files: readonly string[],
  ): Reply {
    try {
      return kind === helloKinds.reattach
        ? this.#reattach(gpu, applicant, slot, files)
        : this.#attach(gpu, applicant);
    } catch (error) {
      return this.#noMemory(gpu.uuid, error);
    }
  }

  #asStated(applicant: Applicant): Applicant {
    const former = this.gpus
      .flatMap(({ clients }) => clients)
      .find((client) => client.isObjectiveStated && isSame(client, applicant));
    return former
      ? { ...applicant, objective: former.objective, isObjectiveStated: true }
      : applicant;
  }

  /** A process that attaches again after exec is not new. */
  #closedFor(hello: View<typeof Hello>, applicant: Applicant): string | undefined {
    const uuid = formatUuid(hello.gpuUuid);
    const clients = this.#gpus.get(uuid)?.clients ?? [];
    const isNew = !clients.some((client) => isSame(client, applicant));
    return applicant.class === "best-effort" && isNew ? this.#around.closedFor?.(uuid) : undefined;
  }

  #judge(hello: View<typeof Hello>, identity: Identity, kind: ClientClass): Verdict {
    const gpu = this.#gpus.get(formatUuid(hello.gpuUuid));
    const held = slotsOfTenant(gpu, { identity, startTime: hello.startTime });
    return this.#around.admission.judge(identity, kind, held);
  }

  #giveUpRecalled(applicant: Applicant): void {
    for (const gpu of this.gpus)
      for (const client of gpu.clients)
        if (!client.connected && isSame(client, applicant)) gpu.release(client, this.#around.now());
  }

  refusalOf(identity: Identity): string | undefined {
    return this.#around.admission.judge(identity, "best-effort", 0).refusal;
  }

  noteUnheld(gpu: ServedGpu, client: Client, high: Client): void {
    const because = `the high client ${high.name} (pid ${high.pid}) does not answer`;
    this.#around.log("not held yet", { ...naming(gpu, client), because });
  }

  hangUp(gpu: ServedGpu, client: Client): void {
    if (gpu.at(client.class, client.slot) !== client) return; // another client has its slot now
    if (!client.holdsOnly) this.#around.leaves?.(gpu, client);
    gpu.release(client, this.#around.now());
    this.#note("released", gpu, client, { because: "its connection is closed" });
    this.#retireEmpty();
  }

  heal(): void {
    for (const gpu of this.gpus) {
      gpu.heal(this.#around.now());
      for (const client of gpu.clients)
        if (!client.connected && !isAlive(client.pid, client.startTime)) {
          this.#around.leaves?.(gpu, client);
          gpu.release(client, this.#around.now());
          this.#around.log("released", { ...naming(gpu, client), because: "its process ended" });
        }
    }
    this.#retireEmpty();
  }

  #retireEmpty(): void {
    for (const gpu of this.gpus.filter(({ everyone }) => everyone.length === 0)) {
      this.#gpus.delete(gpu.uuid);
      gpu.close();
      this.#around.log("serving no more", { gpu: gpu.uuid, because: "its last client is gone" });
    }
  }

  #attach(gpu: ServedGpu, applicant: Applicant): Reply {
    this.#releaseFormer(gpu, applicant);
    const client = gpu.take(applicant, this.#around.now());
    if (!client) return this.#full(gpu, applicant.class);
    this.#note("attached", gpu, client, terms(client));
    return welcome(gpu, client);
  }

  #reattach(gpu: ServedGpu, applicant: Applicant, slot: number, files: readonly string[]): Reply {
    const holder = gpu.at(applicant.class, slot);
    const free = !holder || (isSame(holder, applicant) && !holder.connected);
    const client = free ? gpu.reattach(applicant, slot, files, this.#around.now()) : undefined;
    if (!client) {
      const reason = "That slot is not yours any more: attach again.";
      return { status: welcomeStatus.attachAnew, slot: -1, files: [], reason };
    }
    this.#releaseFormer(gpu, applicant, client);
    this.#note("reattached", gpu, client);
    return welcome(gpu, client);
  }

  /** One process has one slot, even if its connection from before an exec closes later. */
  #releaseFormer(gpu: ServedGpu, applicant: Applicant, but?: Client): void {
    for (const former of gpu.everyone)
      if (former !== but && isSame(former, applicant)) gpu.release(former, this.#around.now());
  }

  /** A slot that only holds is a part of the client on another GPU. */
  #note(event: string, gpu: ServedGpu, client: Client, more: Facts = {}): void {
    if (!client.holdsOnly) this.#around.log(event, { ...naming(gpu, client), ...more });
  }

  #full(gpu: ServedGpu, kind: ClientClass): Reply {
    return { ...noSlot, status: welcomeStatus.full, reason: allSlotsTaken(kind, gpu.uuid) };
  }

  /** Returns a text that says why the GPU can't be served. */
  #gpuOf(hello: View<typeof Hello>): ServedGpu | string {
    const uuid = formatUuid(hello.gpuUuid);
    const served = this.#gpus.get(uuid);
    if (served) return served;
    const known = this.#around.knows(uuid);
    if (known === false) return `The driver of this machine knows of no GPU ${uuid}.`;
    if (known === undefined && this.#gpus.size >= MAX_UNKNOWN_GPUS)
      return `This agent serves ${MAX_UNKNOWN_GPUS} GPUs already, and can't tell whether there is one ${uuid}.`;
    const name = printable(hello.gpuName);
    const identity = { uuid: hello.gpuUuid.slice(), name, smCount: hello.smCount };
    try {
      return this.#serve(identity, "a client came");
    } catch (error) {
      return this.#noMemory(uuid, error).reason;
    }
  }

  #noMemory(uuid: string, error: unknown): Reply {
    const why = whyOf(error);
    this.#around.log("not served", { gpu: uuid, because: why });
    return refusal(`The agent can't make memory for the GPU ${uuid}: ${why}.`);
  }

  #serve(identity: GpuIdentity, because: string): ServedGpu {
    const gpu = new ServedGpu(identity, this.#around.agentPid);
    this.#gpus.set(gpu.uuid, gpu);
    this.#around.prepare(gpu);
    this.#around.log("serving", { gpu: gpu.uuid, because });
    return gpu;
  }

  close(): void {
    for (const gpu of this.gpus) gpu.close();
    this.#gpus.clear();
  }
}

const whyOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** A high client gets the control pages of all best-effort clients. */
function welcome(gpu: ServedGpu, client: Client): Reply {
  const { region } = gpu;
  const files = [region.fd, region.file({ kind: client.class, slot: client.slot })].filter(
    (fd) => fd !== undefined,
  );
  const holds = holdsFor(gpu, client).flatMap((slot) => gpu.holdFile(slot) ?? []);
  return {
    status: welcomeStatus.ok,
    slot: client.slot,
    files: [...files, ...holds],
    reason: "",
    holder: { gpu, client },
  };
}

export const holdsFor = (gpu: ServedGpu, client: Client): readonly number[] =>
  client.class === "best-effort"
    ? [client.slot]
    : gpu.clients
        .filter(({ class: kind, slot }) => kind !== "high" && gpu.holdFile(slot) !== undefined)
        .map(({ slot }) => slot)
        .sort((one, other) => one - other);

const oneGpuOnly =
  "A best-effort client on several GPUs is refused for now: one paused rank would leave the others spinning. Set CUDA_VISIBLE_DEVICES to one GPU.";

export const noSlot = { slot: -1, files: [], reason: "" } as const;

export const refusal = (reason: string): Reply => ({
  ...noSlot,
  status: welcomeStatus.refused,
  reason,
});

export const later = (reason: string): Reply => ({
  ...noSlot,
  status: welcomeStatus.later,
  reason,
});

const isBestEffort = (hello: View<typeof Hello>) => hello.class === classes["best-effort"];

const terms = ({ grant, memoryQuota, objective }: Client) => ({
  ...(grant === undefined ? {} : { grant }),
  ...(memoryQuota > 0 ? { memory: memoryQuota } : {}),
  ...(objective?.p99Us === undefined ? {} : { p99Us: objective.p99Us }),
  ...(objective?.slowdown === undefined ? {} : { slowdown: objective.slowdown }),
});

const naming = (gpu: ServedGpu, client: Client) => ({
  client: client.name,
  class: client.class,
  pid: client.pid,
  slot: client.slot,
  gpu: gpu.uuid,
  ...(client.identity ? { of: describeIdentity(client.identity) } : {}),
});
