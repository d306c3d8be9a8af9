// A cluster has a thousand nodes, and each write wakes managers, one of a slice the scheduler too.
import { type Api, ApiError } from "../api/client.ts";
import {
  type Counted,
  deviceName,
  gpuNodeOf,
  type Injecting,
  sliceName,
  sliceOf,
} from "./slice.ts";
import type { NodeGpu, ServiceMemory } from "./state/gpus.ts";
import type { DeviceTaint, PublishedGpuNode, ResourceSlice } from "./state/objects.ts";
import { Steady } from "./state/steady.ts";

const URGENT_EVERY_MS = 5000;
const LOAD_EVERY_MS = 30_000;
/** A slice with too much memory does no harm for this long: the manager goes by the GPUNode. */
const LESS_EVERY_MS = 300_000;
/** The manager takes no notice of a GPUNode that has not changed for 150 s. */
const ALIVE_EVERY_MS = 60_000;

interface Written {
  readonly all: string;
  readonly urgent: string;
  readonly taints: string;
  readonly at: number;
}

const never: Written = { all: "", urgent: "", taints: "", at: Number.NEGATIVE_INFINITY };

const nothing: Counted = { recovered: [], slowdownSeconds: {}, clients: [] };

export class Publisher {
  readonly #api: Api;
  readonly #node: string;
  #nodeUid: string | undefined;
  #generation = 0;
  #taints: ReadonlyMap<string, readonly DeviceTaint[]> = new Map();
  #services: ReadonlyMap<string, ServiceMemory> = new Map();
  readonly #steady = new Steady();
  #slice = never;
  #sliceBytes: readonly number[] = [];
  #status = never;

  constructor(api: Api, node: string) {
    this.#api = api;
    this.#node = node;
  }

  /** The times of taints and the memory of services go on from the last node part. */
  async begin(): Promise<void> {
    if (this.#nodeUid !== undefined) return;
    const { metadata } = await this.#api.get<{ readonly metadata: { readonly uid: string } }>(
      `/api/v1/nodes/${this.#node}`,
    );
    const slice = await this.#api.find<ResourceSlice>(this.#slicePath);
    this.#generation = slice?.spec.pool.generation ?? 0;
    this.#taints = new Map(
      slice?.spec.devices?.map(({ name, taints = [] }) => [name, taints]) ?? [],
    );
    const gpuNode = await this.#api.find<PublishedGpuNode>(this.#gpuNodePath);
    this.#services = servicesOf(gpuNode?.status?.gpus ?? []);
    this.#nodeUid = metadata.uid;
  }

  get services(): ReadonlyMap<string, ServiceMemory> {
    return this.#services;
  }

  taintsOf(uuids: readonly string[]): ReadonlyMap<string, readonly DeviceTaint[]> {
    return new Map(uuids.map((uuid) => [uuid, this.#taints.get(deviceName(uuid)) ?? []]));
  }

  /** Resolves to whether the GPUNode was written. Rejects on a refusal. `now`: ms since 1970. */
  async publish(
    seen: readonly NodeGpu[],
    injecting: Injecting,
    now: number,
    counted: (uuid: string) => Counted = () => nothing,
  ): Promise<boolean> {
    if (this.#nodeUid === undefined) return false;
    const gpus = this.#steady.of(seen, now);
    this.#taints = new Map(gpus.map(({ uuid, taints }) => [deviceName(uuid), taints]));
    this.#services = servicesOf(gpus);
    await this.#writeSlice(gpus, now);
    return await this.#writeStatus(gpus, injecting, now, counted);
  }

  async #writeSlice(gpus: readonly NodeGpu[], now: number): Promise<void> {
    const node = { name: this.#node, uid: this.#nodeUid ?? "" };
    const next: Written = {
      all: JSON.stringify(sliceOf(node, gpus, 0)),
      urgent: JSON.stringify(sliceOf(node, gpus.map(withoutMemory), 0)),
      taints: taintsOf(gpus),
      at: now,
    };
    const last = this.#slice;
    if (next.all === last.all) return;
    // Claims that the manager makes for more memory have to find it there.
    const isMore = gpus.some(({ memoryBytes }, i) => memoryBytes > (this.#sliceBytes[i] ?? 0));
    const due =
      next.taints !== last.taints
        ? 0
        : isMore || next.urgent !== last.urgent
          ? URGENT_EVERY_MS
          : LESS_EVERY_MS;
    if (now - last.at < due) return;
    const written = await this.#api.apply<ResourceSlice>(
      this.#slicePath,
      sliceOf(node, gpus, this.#generation + 1),
    );
    this.#generation++;
    if (written.spec.devices?.some(({ allowMultipleAllocations }) => !allowMultipleAllocations))
      await this.#withdraw();
    this.#slice = next;
    this.#sliceBytes = gpus.map(({ memoryBytes }) => memoryBytes);
  }

  async #writeStatus(
    gpus: readonly NodeGpu[],
    injecting: Injecting,
    now: number,
    countedOn: (uuid: string) => Counted,
  ): Promise<boolean> {
    const next: Written = {
      all: JSON.stringify(gpuNodeOf(this.#node, gpus, injecting, 0)),
      urgent: JSON.stringify(gpuNodeOf(this.#node, gpus.map(withoutLoad), injecting, 0)),
      taints: taintsOf(gpus),
      at: now,
    };
    const last = this.#status;
    if (now - last.at < pauseBefore(next, last)) return false;
    const path = this.#gpuNodePath;
    const counted = gpus.map((gpu) => ({ ...gpu, ...countedOn(gpu.uuid) }));
    const { status, ...object } = gpuNodeOf(this.#node, counted, injecting, now) as {
      status: object;
    };
    if (last === never) await this.#api.apply(path, object);
    try {
      // Server-side apply would not do: an older API server drops a field that it does not know.
      await this.#api.mergePlain(`${path}/status`, { status });
    } catch (error) {
      // Somebody has deleted it.
      if (error instanceof ApiError && error.status === 404) this.#status = never;
      throw error;
    }
    this.#status = next;
    return true;
  }

  /** Without it the first claim would have the whole GPU, and nobody would know. */
  async #withdraw(): Promise<never> {
    await this.#api.remove(this.#slicePath);
    throw new Error(
      "the API server drops what lets several claims share a device: Cotenant needs Kubernetes 1.36 or newer, with the feature gate DRAConsumableCapacity on. This node offers no GPU",
    );
  }

  get #gpuNodePath(): string {
    return `/apis/cotenant.io/v1alpha1/gpunodes/${this.#node}`;
  }

  get #slicePath(): string {
    return `/apis/resource.k8s.io/v1/resourceslices/${sliceName(this.#node)}`;
  }
}

const withoutMemory = (gpu: NodeGpu): NodeGpu => ({ ...gpu, memoryBytes: 0 });
const withoutLoad = (gpu: NodeGpu): NodeGpu => ({ ...gpu, activeShare: 0 });
const taintsOf = (gpus: readonly NodeGpu[]) => JSON.stringify(gpus.map(({ taints }) => taints));

function pauseBefore(next: Written, last: Written): number {
  if (next.taints !== last.taints) return 0;
  if (next.urgent !== last.urgent) return URGENT_EVERY_MS;
  return next.all === last.all ? ALIVE_EVERY_MS : LOAD_EVERY_MS;
}

const servicesOf = (
  gpus: readonly {
    readonly uuid: string;
    readonly podUid?: string | undefined;
    readonly serviceBytes?: number;
  }[],
): ReadonlyMap<string, ServiceMemory> =>
  new Map(
    gpus.flatMap(({ uuid, podUid, serviceBytes: bytes }) =>
      podUid === undefined || bytes === undefined ? [] : [[uuid, { podUid, bytes }]],
    ),
  );
