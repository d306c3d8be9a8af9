// It works without the manager. Whatever fails in one sample is tried again in the next.
import { existsSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { type GpuStatus, pathsIn, runningAgent } from "#agent";
import { askStatus, askToHold, askToPark, clientEdits, containerEdits } from "#client";
import { wallNow } from "#core";
import type { Api } from "../api/client.ts";
import { paced } from "../api/paced.ts";
import { PreparedClaims } from "./claims.ts";
import { serveDriver } from "./driver.ts";
import { GrantsFile, grantsFor } from "./grants.ts";
import { holdersAt } from "./holders.ts";
import { Injector } from "./injector.ts";
import { installOnHost } from "./install.ts";
import { Measuring, type Setting } from "./measured.ts";
import type { NodeMetrics } from "./metrics.ts";
import { forgetGone } from "./plugin.ts";
import { Publisher } from "./publish.ts";
import { Recovery } from "./recovered.ts";
import { newMissedEvents, newRefusals } from "./refusals.ts";
import { Shares } from "./shares.ts";
import { VendorClaims } from "./state/claimed.ts";
import { Demands } from "./state/demands.ts";
import { gpusOf, type Holder, isLeaving, type NodeGpu, type Policy } from "./state/gpus.ts";
import { nodeView } from "./state/view.ts";
import { vendorDevice } from "./vendor.ts";

const LOOK_EVERY_MS = 1000;
/** Best-effort work is held within a second of the end of a service. */
const LOOK_AT_LEAVING_EVERY_MS = 200;
const FORGET_EVERY_MS = 60_000;
const WRITES_PER_SECOND = 20;

export interface NodeOptions {
  readonly node: string;
  readonly gpu: "nvidia" | "soft";
  readonly directory: string;
  readonly grants: string;
  readonly kubelet: string;
  readonly cdi: readonly string[];
  readonly nri: string;
  readonly host: string;
  readonly policy: Policy;
  readonly metrics: NodeMetrics;
}

export async function offerGpus(
  server: Api,
  options: NodeOptions,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<void> {
  const { node, gpu, directory, kubelet, cdi, policy, metrics } = options;
  const api = paced(server, WRITES_PER_SECOND, () => metrics.writes++);
  const host = installOnHost(options.host, gpu);
  const grants = new GrantsFile(options.grants);
  const claims = new PreparedClaims(cdi[0] ?? "/run/cdi");
  const view = nodeView(api, node, signal, say);
  const shares = new Shares(api, view.pairings);
  const vendorClaims = new VendorClaims(api, view.vendorSlices);
  const { shared } = pathsIn(directory);
  const injector = new Injector({
    ...{ path: options.nri, edits: clientEdits(directory, host.library), say },
    ready: () => view.synced,
    podOf: view.podOf,
    claims: vendorClaims,
    isExcluded: view.isExcluded,
    // A mount of a folder that is not there would keep the container from starting.
    lacking: () => (existsSync(shared) ? undefined : `the agent has not made ${shared} yet`),
  });
  const injecting = injector.run(signal);
  let gpus: readonly GpuStatus[] = [];
  let sharing: Setting = { policy: "", mode: "isolated" };
  let holders: ReadonlyMap<string, Holder> | undefined;
  const driver = await serveDriver(
    kubelet,
    {
      api,
      node,
      claims,
      gpus: () => gpus.map(({ uuid }) => uuid),
      edits: ({ podName, memoryBytes }) => {
        const { env, mounts } = containerEdits("best-effort", directory, host);
        return { env: [...env, ...ownVariables(podName, memoryBytes)], mounts };
      },
      vendorDevices: (uuid) => (gpu === "soft" ? [] : [vendorDevice(uuid, cdi)]),
    },
    say,
  );
  const publisher = new Publisher(api, node);
  const tellRefusals = newRefusals(api, node);
  const tellMissed = newMissedEvents(api, node);
  const measuring = new Measuring();
  const recovery = new Recovery();
  const demands = new Demands();
  const attempt = newAttempts(say, metrics);
  let forgetAt = 0;
  let services: ReadonlyMap<string, string | undefined> = new Map();
  const isOneLeaving = () => {
    const uids = new Set(services.values());
    return view.pods().some((pod) => isLeaving(pod) && uids.has(pod.metadata.uid));
  };
  while (!signal.aborted) {
    const now = wallNow();
    const began = performance.now();
    await attempt("kubelet's folder of plugins", () => driver.keepOpen());
    let agentAnswers = false;
    await attempt("the agent", async () => {
      const status = await askStatus(agentIn(directory));
      ({ gpus } = status);
      sharing = status.agent;
      agentAnswers = true;
    });
    await attempt("kubelet", async () => {
      holders = await holdersAt(kubelet);
    });
    await attempt("the last ResourceSlice", () => publisher.begin());
    if (view.synced) {
      const pods = view.pods();
      const own = claims.all();
      await attempt("the file of grants", async () => grants.write(grantsFor(pods, own)));
      await attempt("the claims of pods", () => vendorClaims.look(pods));
      // kubelet's word goes first: it names a GPU by its UUID.
      const known = holders && new Map([...vendorClaims.holders(pods), ...holders]);
      await attempt("a GPU of NVIDIA's DRA driver", async () => {
        if (vendorClaims.ready) noneUnknown(vendorClaims.unknown);
      });
      if (known !== undefined && vendorClaims.ready) {
        const seen = gpusOf(
          {
            ...{ now, gpus, agentAnswers, holders: known, pods },
            taints: publisher.taintsOf(gpus.map(({ uuid }) => uuid)),
            services: publisher.services,
          },
          policy,
        );
        if (agentAnswers)
          await attempt("a hold of the agent", () => tellAgent(directory, gpus, seen));
        await attempt("the manager's Lease", () => shares.look(own, performance.now()));
        if (agentAnswers)
          await attempt("a share of the agent", () =>
            shares.tell(agentIn(directory), own, gpus, performance.now()),
          );
        services = new Map(seen.map(({ uuid, podUid }) => [uuid, podUid]));
        if (agentAnswers) {
          const serviceOf = (uuid: string) => services.get(uuid);
          recovery.sample(own, gpus, serviceOf, performance.now());
          demands.sample(own, gpus, serviceOf, performance.now());
        }
        if (seen.length > 0)
          await attempt("the API server", async () => {
            const counters = (uuid: string) => ({
              ...recovery.of(uuid),
              clients: demands.of(uuid),
            });
            if (await publisher.publish(seen, injector, now, counters)) recovery.written();
          });
        await attempt("an event", () => tellRefusals(seen, now));
        await attempt("an event of a container", () => tellMissed(injector.missed, now));
        if (agentAnswers)
          for (const [claim, mean] of measuring.look(own, gpus, sharing, now))
            await attempt("a Pairing", () => measuring.write(api, claim, mean, now));
        metrics.gpus = seen;
      }
      metrics.claims = own.length;
      metrics.missedContainers = injector.missed.length;
    }
    if (now >= forgetAt) {
      forgetAt = now + FORGET_EVERY_MS;
      await attempt("claims that are gone", async () => {
        for (const name of await forgetGone(api, claims)) say(`forgot ${name}, which is gone`);
      });
    }
    metrics.sampleSeconds = (performance.now() - began) / 1000;
    await untilNextSample(isOneLeaving, signal);
  }
  driver.close();
  await injecting;
}

async function untilNextSample(isOneLeaving: () => boolean, signal: AbortSignal): Promise<void> {
  const end = performance.now() + LOOK_EVERY_MS;
  do
    await wait(LOOK_AT_LEAVING_EVERY_MS, undefined, { signal }).catch(() => {}); // it was aborted
  while (!signal.aborted && performance.now() < end && !isOneLeaving());
}

function agentIn(directory: string) {
  const agent = runningAgent(directory);
  if (!agent) throw new Error(`no agent runs in ${directory}`);
  return agent;
}

const ownVariables = (podName: string, memoryBytes: number): readonly string[] => [
  `COTENANT_NAME=${podName}`,
  ...(memoryBytes > 0 ? [`COTENANT_MEMORY=${memoryBytes}`] : []),
  // Images bring "all", which the container runtime would add to the one GPU.
  "NVIDIA_VISIBLE_DEVICES=void",
  ...(process.env.COTENANT_SOFTGPU ? [`COTENANT_SOFTGPU=${process.env.COTENANT_SOFTGPU}`] : []),
];

function noneUnknown(devices: readonly string[]): void {
  if (devices.length > 0)
    throw new Error(
      `${devices.join(", ")} is in none of the driver's ResourceSlices of this node, so nobody knows which GPU it is: ` +
        "see the driver's log",
    );
}

async function tellAgent(
  directory: string,
  gpus: readonly GpuStatus[],
  seen: readonly NodeGpu[],
): Promise<void> {
  const agent = agentIn(directory);
  for (const { uuid, hold } of seen) {
    const { heldBecause, bestEffort = [] } = gpus.find((gpu) => gpu.uuid === uuid) ?? {};
    if (hold === undefined && heldBecause === undefined) continue;
    await askToHold(agent, uuid, hold);
    const [wish, from] =
      hold === undefined ? (["resume", "parked"] as const) : (["park", "open"] as const);
    for (const { pid, memory } of bestEffort)
      if (memory?.movable && memory.state === from && memory.asked === memory.answered)
        await askToPark(agent, wish, String(pid));
  }
}

function newAttempts(say: (line: string) => void, metrics: NodeMetrics) {
  const failing = new Map<string, string>();
  return async (what: string, run: () => Promise<void>): Promise<void> => {
    try {
      await run();
      if (failing.delete(what)) say(`${what}: all right again`);
    } catch (error) {
      metrics.failed(what);
      const why = error instanceof Error ? error.message : String(error);
      if (failing.get(what) !== why) say(`${what}: ${why}`);
      failing.set(what, why);
    }
  };
}
