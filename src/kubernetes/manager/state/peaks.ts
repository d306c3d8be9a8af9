// A ConfigMap outlives a manager. Workloads are hashes, so it says nothing of what they run.
import type { Api } from "../../api/client.ts";
import { SYSTEM_NAMESPACE } from "../../labels/names.ts";
import { MAX_WORKLOADS, type ServiceMemories } from "./services.ts";

const WRITE_EVERY_MS = 300_000;
const PATH = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/configmaps/cotenant-service-memory`;
const KEY = "memory.json";

interface ConfigMap {
  readonly metadata: object;
  readonly data?: Readonly<Record<string, string>>;
}

type Peaks = readonly (readonly [workload: string, mebibytes: number])[];

const MIB = 2 ** 20;

export class ServicePeaks {
  readonly #api: Api;
  readonly #memories: ServiceMemories;
  #isRead = false;
  #written = "";
  #at = Number.NEGATIVE_INFINITY;

  constructor(api: Api, memories: ServiceMemories) {
    this.#api = api;
    this.#memories = memories;
  }

  /** Rejects when the API server refuses; then it is read the next time. */
  async read(): Promise<void> {
    if (this.#isRead) return;
    const found = await this.#api.find<ConfigMap>(PATH);
    this.#memories.recall(
      peaksIn(found).map(([workload, mebibytes]) => [workload, mebibytes * MIB]),
    );
    this.#isRead = true;
  }

  /** `now` is in monotonic ms. Rejects when the API server refuses. */
  async write(now: number): Promise<void> {
    if (!this.#isRead || now - this.#at < WRITE_EVERY_MS) return;
    this.#at = now;
    const text = textOf(this.#memories.all);
    if (text === this.#written) return;
    const found = await this.#api.find<ConfigMap>(PATH);
    // It is one of the chart's objects: the manager may change it alone.
    if (found) await this.#api.replace(PATH, { ...found, data: { [KEY]: text } });
    this.#written = text;
  }
}

/** They are sorted, so that the same memory is the same text. */
const textOf = (all: ReadonlyMap<string, number>): string =>
  JSON.stringify([...all].map(([workload, bytes]) => [workload, Math.ceil(bytes / MIB)]).sort());

/** An object that can't be read counts as empty, because somebody may have changed it. */
function peaksIn(found: ConfigMap | undefined): Peaks {
  try {
    const all: unknown = JSON.parse(found?.data?.[KEY] ?? "[]");
    return (Array.isArray(all) ? all : [])
      .filter(
        (one): one is Peaks[number] =>
          Array.isArray(one) && typeof one[0] === "string" && one[1] > 0 && one[1] < 2 ** 30,
      )
      .slice(0, MAX_WORKLOADS);
  } catch {
    return [];
  }
}
