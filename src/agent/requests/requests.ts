import type { Clock } from "#core";
import type { RequestLimits, RequestSample } from "#policy";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import { networkNamespaceOf } from "../system/index.ts";
import { Endpoint, type RequestsStatus } from "./endpoint.ts";

type EndpointClient = Pick<Client, "pid" | "sloMetrics">;

export class Requests {
  readonly #clock: Pick<Clock, "now">;
  readonly #endpoints = new WeakMap<Client, { endpoint: Endpoint; limits: RequestLimits }>();
  readonly #told = new WeakSet<Client>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** The endpoint of a client that reports its requests itself is not asked. */
  setReports(client: Client, isTold: boolean): void {
    if (isTold) this.#told.add(client);
    else this.#told.delete(client);
  }

  async ask(gpus: readonly ServedGpu[]): Promise<void> {
    const clients = gpus.flatMap((gpu) => gpu.clients.filter((client) => !this.#told.has(client)));
    const asked = clients.flatMap((client) => this.#of(client) ?? []);
    await Promise.all(asked.map((endpoint) => endpoint.ask()));
  }

  take(client: Client, stepsSeen = false): RequestSample {
    return this.#of(client)?.take(stepsSeen);
  }

  status(client: Client): RequestsStatus | undefined {
    const unheard = whyUnreadable(client);
    if (unheard === undefined) return this.#of(client)?.status;
    return client.objective?.requests && client.sloMetrics !== ""
      ? { url: client.sloMetrics, unheard, kinds: [] }
      : undefined;
  }

  #of(client: Client): Endpoint | undefined {
    const { sloMetrics, objective: { requests: limits } = {} } = client;
    if (!limits || whyUnreadable(client) !== undefined) return undefined;
    const known = this.#endpoints.get(client);
    if (known?.limits === limits) return known.endpoint;
    const endpoint = new Endpoint(sloMetrics, limits, () => this.#clock.now());
    this.#endpoints.set(client, { endpoint, limits });
    return endpoint;
  }
}

function whyUnreadable({ pid, sloMetrics }: EndpointClient): string | undefined {
  if (sloMetrics === "") return "no --slo-metrics names its endpoint";
  const own = networkNamespaceOf(process.pid);
  const its = networkNamespaceOf(pid);
  if (own !== undefined && its !== undefined && own !== its)
    return "the client is in another network namespace, whose loopback the agent can't reach";
  return undefined;
}
