// Writes a node's ResourceSlice and GPUNode, when they change and not too often. A taint is written at once.
import type { Api } from "../api/client.ts";
import type { NodeGpu, ServiceMemory } from "./gpus.ts";
import type { DeviceTaint, PublishedGpuNode, ResourceSlice } from "./objects.ts";
import { deviceName, gpuNodeOf, type Injecting, sliceName, sliceOf } from "./slice.ts";

/** Between two writes of what is observed. */
const WRITE_EVERY_MS = 5000;
/** The manager takes no notice of a GPUNode that has not changed for 30 s. */
const ALIVE_EVERY_MS = 15_000;

interface Written {
  readonly text: string;
  readonly taints: string;
  readonly at: number;
}

export class Publisher {
  readonly #api: Api;
  readonly #node: string;
  #nodeUid: string | undefined;
  #generation = 0;
  /** By the device's name. */
  #taints: ReadonlyMap<string, readonly DeviceTaint[]> = new Map();
  /** By the GPU's UUID. */
  #services: ReadonlyMap<string, ServiceMemory> = new Map();
  #slice: Written | undefined;
  #status: Written | undefined;

  constructor(api: Api, node: string) {
    this.#api = api;
    this.#node = node;
  }

  /** Reads what the last node part has written, so that the times of taints and the memory of services go on. */
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

  /** `now`: ms since 1970. Rejects when the API server does not take it; then it is written the next time. */
  async publish(gpus: readonly NodeGpu[], injecting: Injecting, now: number): Promise<void> {
    if (this.#nodeUid === undefined) return;
    // From now on this is what is meant, whether or not it could be written yet.
    this.#taints = new Map(gpus.map(({ uuid, taints }) => [deviceName(uuid), taints]));
    this.#services = servicesOf(gpus);
    const node = { name: this.#node, uid: this.#nodeUid };
    const next = (last: Written | undefined, object: object) => {
      const text = JSON.stringify(object);
      const taints = JSON.stringify(gpus.map((gpu) => gpu.taints));
      const due = now - (last?.at ?? 0) >= WRITE_EVERY_MS;
      const changed = last?.text !== text;
      const wanted = changed && (due || last?.taints !== taints);
      return { written: { text, taints, at: now }, wanted };
    };
    const slice = next(this.#slice, sliceOf(node, gpus, 0));
    if (slice.wanted) {
      const written = await this.#api.apply<ResourceSlice>(
        this.#slicePath,
        sliceOf(node, gpus, this.#generation + 1),
      );
      this.#generation++;
      if (written.spec.devices?.some(({ allowMultipleAllocations }) => !allowMultipleAllocations))
        await this.#withdraw();
      this.#slice = slice.written;
    }
    const status = next(this.#status, gpuNodeOf(this.#node, gpus, injecting, 0));
    if (status.wanted || now - (this.#status?.at ?? 0) >= ALIVE_EVERY_MS) {
      const path = this.#gpuNodePath;
      const { status: told, ...object } = gpuNodeOf(this.#node, gpus, injecting, now) as {
        status: object;
      };
      if (this.#status === undefined) await this.#api.apply(path, object);
      await this.#api.apply(`${path}/status`, { ...object, status: told });
      this.#status = status.written;
    }
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
