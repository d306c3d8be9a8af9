// The endpoints of all high clients whose objectives are about requests. Of a client without one, the program reports its
// requests itself (told.ts).
import type { Clock } from "#core";
import type { RequestLimits, RequestSample } from "#policy";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import { networkNamespaceOf } from "../system/index.ts";
import { Endpoint, type RequestsStatus } from "./endpoint.ts";

type EndpointClient = Pick<Client, "pid" | "sloMetrics">;

export class Requests {
  readonly #clock: Pick<Clock, "now">;
  /** With the limits for which they judge. */
  readonly #endpoints = new WeakMap<Client, { endpoint: Endpoint; limits: RequestLimits }>();

  /** Those that report all their requests themselves. */
  readonly #told = new WeakSet<Client>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** The endpoint of a client that reports its requests itself is not asked. */
  setReports(client: Client, isTold: boolean): void {
    if (isTold) this.#told.add(client);
    else this.#told.delete(client);
  }

  /** Asks the services whose time it is; call it four times a second. */
  async ask(gpus: readonly ServedGpu[]): Promise<void> {
    const clients = gpus.flatMap((gpu) => gpu.clients.filter((client) => !this.#told.has(client)));
    const asked = clients.flatMap((client) => this.#of(client) ?? []);
    await Promise.all(asked.map((endpoint) => endpoint.ask()));
  }

  /** Requests since the last call; undefined while nothing is reported of them, or none are asked for. `stepsSeen`: see Endpoint. */
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

/** Why the agent can't ask this client's service; undefined if it can. */
function whyUnreadable({ pid, sloMetrics }: EndpointClient): string | undefined {
  if (sloMetrics === "") return "no --slo-metrics names its endpoint";
  const own = networkNamespaceOf(process.pid);
  const its = networkNamespaceOf(pid);
  if (own !== undefined && its !== undefined && own !== its)
    return "the client is in another network namespace, whose loopback the agent can't reach";
  return undefined;
}
