import { by, family, one } from "../metrics/text.ts";
import type { NodeGpu } from "./state/gpus.ts";

export class NodeMetrics {
  gpus: readonly NodeGpu[] = [];
  claims = 0;
  missedContainers = 0;
  sampleSeconds = 0;
  writes = 0;
  throttled = 0;
  readonly #failures = new Map<string, number>();

  failed(what: string): void {
    this.#failures.set(what, (this.#failures.get(what) ?? 0) + 1);
  }

  text(): string {
    const gpus = (isThis: (gpu: NodeGpu) => boolean) => this.gpus.filter(isThis).length;
    return [
      one(
        "cotenant_node_older_clients",
        "gauge",
        "Clients whose library is older than the agent",
        this.gpus.reduce((sum, { older }) => sum + older, 0),
      ),
      family(
        "cotenant_node_gpus",
        "gauge",
        "GPUs: all, healthy, with a high pod, and with one that is a client of the agent",
        by("state", [
          ["all", this.gpus.length],
          ["healthy", gpus(({ healthy }) => healthy)],
          ["high", gpus(({ podUid }) => podUid !== undefined)],
          ["served", gpus(({ served }) => served)],
        ]),
      ),
      one("cotenant_node_claims", "gauge", "Claims that are prepared", this.claims),
      one(
        "cotenant_node_missed_containers",
        "gauge",
        "Containers of high pods that run without the library",
        this.missedContainers,
      ),
      one(
        "cotenant_node_sample_seconds",
        "gauge",
        "Duration of the last sample",
        this.sampleSeconds,
      ),
      one("cotenant_node_api_writes_total", "counter", "Writes to the API server", this.writes),
      one(
        "cotenant_node_api_throttled_total",
        "counter",
        "Requests that the API server was too busy for (status 429)",
        this.throttled,
      ),
      family(
        "cotenant_node_failures_total",
        "counter",
        "Attempts that failed and are repeated each second, by what was tried",
        by("what", this.#failures),
      ),
    ].join("");
  }
}
