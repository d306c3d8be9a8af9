import { by, family, one } from "../metrics/text.ts";

const EVICTIONS = "cotenant_manager_evictions_total";

export class ManagerMetrics {
  isLeader = false;
  decisionSeconds = 0;
  trainingSeconds = 0;
  matches = 0;
  explorations = 0;
  apiErrors = 0;
  writes = 0;
  throttled = 0;
  waiting: ReadonlyMap<string, number> = new Map();
  gpus: Readonly<Record<string, number>> = {};
  readonly #evictions = new Map<string, number>();
  readonly #recovered = new Map<string, number>();

  recovered(namespace: string, gpuSeconds: number): void {
    this.#recovered.set(namespace, (this.#recovered.get(namespace) ?? 0) + gpuSeconds);
  }

  evicted(cause: string): void {
    this.#evictions.set(cause, (this.#evictions.get(cause) ?? 0) + 1);
  }

  text(): string {
    return [
      one("cotenant_manager_leader", "gauge", "1: this manager decides", this.isLeader ? 1 : 0),
      one(
        "cotenant_manager_decision_seconds",
        "gauge",
        "Duration of the last decision",
        this.decisionSeconds,
      ),
      one(
        "cotenant_manager_training_seconds",
        "gauge",
        "Duration of the last training on measured pairs, between two decisions",
        this.trainingSeconds,
      ),
      one("cotenant_manager_matches_total", "counter", "Pods matched with a GPU", this.matches),
      one(
        "cotenant_manager_explorations_total",
        "counter",
        "Matches that were chosen at random, because no such pair was measured",
        this.explorations,
      ),
      one(
        "cotenant_manager_api_errors_total",
        "counter",
        "Requests that the API server refused or did not answer",
        this.apiErrors,
      ),
      one(
        "cotenant_manager_api_writes_total",
        "counter",
        "Writes to the API server, with events and without the Lease",
        this.writes,
      ),
      one(
        "cotenant_manager_api_throttled_total",
        "counter",
        "Requests that the API server was too busy for (status 429)",
        this.throttled,
      ),
      family(
        "cotenant_manager_waiting_pods",
        "gauge",
        "Pods that wait for a GPU",
        by("reason", this.waiting),
      ),
      family(
        "cotenant_manager_gpus",
        "gauge",
        "GPUs, by what keeps pods from them",
        by("state", Object.entries(this.gpus)),
      ),
      family(EVICTIONS, "counter", "Pods that were evicted", by("cause", this.#evictions)),
      family(
        "cotenant_manager_recovered_gpu_seconds_total",
        "counter",
        "GPU time that best-effort pods recovered, in seconds of a pod that has a GPU alone",
        by("namespace", this.#recovered),
      ),
    ].join("");
  }
}
