// A cluster of 20 nodes with 8 GPUs, 100 services and 400 best-effort pods, while parts of it fail. The whole time it
// holds that no GPU has more claims or memory taken than it has, that no claim is without its pod, and that no service is
// touched. At its end no pod waits that has a place, and none has a gate for ever. COTENANT_TEST_NODES names another number
// of nodes, a multiple of 20: a release has 100.
import { afterAll, describe, expect, test } from "vitest";
import { type Api, ApiError, type Watched, watched } from "#kubernetes";
import { type Agents, asAdministrator, startAgents } from "./agents.ts";
import { until } from "./cluster.ts";
import { cotenantCluster, installCotenant } from "./cotenant.ts";
import { clusterHere, whyNot } from "./here.ts";
import { type Claim, type Invariants, watchInvariants } from "./invariants.ts";
import { type Manager, startManager } from "./manager.ts";
import { addNodes } from "./nodes.ts";
import * as pods from "./pods.ts";
import { installWebhook, type Webhook } from "./webhook.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: tests of a cluster of size, because ${why}`);

const NODES = Number(process.env.COTENANT_TEST_NODES ?? 20);
const GPUS = 8;
const SERVICES = 5 * NODES;
const JOBS = 8;
const PODS_OF_JOB = NODES * 2.5;
const SLOTS = 2;
const GIB = 2 ** 30;
/** Two pods of 10 GiB. */
const MEMORY = 25 * GIB;

interface Listed {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly namespace: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName?: string; readonly schedulingGates?: readonly object[] };
  readonly status: { readonly phase?: string };
}

describe.skipIf(why !== undefined)("a cluster of size", () => {
  const nodes = Array.from({ length: NODES }, (_, n) => `node-${n}`);
  const uuidsOf = (node: string) => Array.from({ length: GPUS }, (_, g) => `GPU-${node}-${g}`);
  const managers: Manager[] = [];
  let webhook: Webhook | undefined;
  let agents: Agents | undefined;
  let invariants: Invariants | undefined;
  let api: Api | undefined;
  /** A watch costs the API server less than lists of all pods again and again. */
  let seen: { pods: Watched<Listed>; claims: Watched<Claim> } | undefined;
  const end = new AbortController();
  const cluster = clusterHere(async (started) => {
    await installCotenant(started);
    webhook = await installWebhook(started);
    await addNodes(started, nodes, { gpus: GPUS });
    api = asAdministrator(started);
    const watch = <T extends Listed | Claim>(path: string) =>
      watched<T>(asAdministrator(started), { path, keep: (one) => one }, end.signal, () => {});
    seen = {
      pods: watch<Listed>("/api/v1/namespaces/default/pods"),
      claims: watch<Claim>("/apis/resource.k8s.io/v1/resourceclaims"),
    };
    agents = await startAgents(api, new Map(nodes.map((node) => [node, uuidsOf(node)])));
    managers.push(await startManager(started), await startManager(started));
  });
  afterAll(async () => {
    invariants?.stop();
    end.abort();
    agents?.stop();
    for (const manager of managers) await manager.stop();
    await webhook?.stop();
  });

  const asked = (): { api: Api; agents: Agents } => {
    if (!api || !agents) throw new Error("the cluster has not started");
    return { api, agents };
  };
  const running = (all: readonly Listed[]) =>
    all.filter(
      ({ metadata, status }) =>
        status.phase === "Running" && metadata.deletionTimestamp === undefined,
    );
  const removeAll = async (all: readonly Listed[]): Promise<void> => {
    for (const { metadata } of all)
      await asked()
        .api.remove(`/api/v1/namespaces/default/pods/${metadata.name}`)
        .catch((error: unknown) => {
          // It may have gone by itself since it was seen.
          if (!(error instanceof ApiError && error.status === 404)) throw error;
        });
  };
  const gated = (all: readonly Listed[]) => all.filter(({ spec }) => spec.schedulingGates?.length);
  const labelled = (key: string, value: string): readonly Listed[] =>
    [...(seen?.pods.values() ?? [])].filter(({ metadata }) => metadata.labels?.[key] === value);
  const services = () => labelled("app", "serve");
  const trainings = () => labelled("kind", "training");
  /** Expects that many of the trainings run: no GPU has room for more. */
  const allRun = (what: string, count: number) =>
    until(what, [], async () => running(trainings()).length === count);

  /** Reports what agents see: the GPUs of a node go to its services in order. */
  async function observeServices(): Promise<void> {
    const byNode = new Map<string, string[]>();
    for (const { metadata, spec } of services())
      byNode.set(spec.nodeName ?? "", [...(byNode.get(spec.nodeName ?? "") ?? []), metadata.uid]);
    for (const node of nodes) {
      const uids = byNode.get(node) ?? [];
      const gpus = uuidsOf(node).map((uuid, g) => ({
        ...{ uuid, model: "none", healthy: true, slots: SLOTS, memoryBytes: MEMORY },
        activeShare: ((g * 7) % 10) / 20,
        serviceBytes: GIB,
        ...(uids[g] !== undefined && { podUid: uids[g] }),
      }));
      if (JSON.stringify(asked().agents.told(node)) !== JSON.stringify(gpus))
        await asked().agents.observe(node, gpus);
    }
  }

  const job = (name: string) => {
    const made = pods.jobOf(pods.bestEffort(), name, PODS_OF_JOB);
    const labels = { ...made.spec.template.metadata.labels, kind: "training" };
    return {
      ...made,
      spec: {
        ...made.spec,
        // A Job counts the pods that this test deletes as failures, which are more the more nodes there are.
        backoffLimit: 1_000_000,
        template: { ...made.spec.template, metadata: { ...made.spec.template.metadata, labels } },
      },
    };
  };

  const PLACES = SERVICES * SLOTS;

  test("gives every service's GPU its two pods, and the rest waits with a reason", async () => {
    const serving = pods.controllerOf("Deployment", pods.high(), "serve");
    const { api } = asked();
    await api.create("/apis/apps/v1/namespaces/default/deployments", {
      ...serving,
      spec: { ...serving.spec, replicas: SERVICES },
    });
    await until("all services run", [], async () => running(services()).length === SERVICES);
    await observeServices();
    if (!seen) throw new Error("the cluster has not started");
    invariants = watchInvariants(seen.claims, seen.pods, services(), (node) =>
      asked().agents.told(node),
    );
    for (let n = 0; n < JOBS; n++)
      await api.create("/apis/batch/v1/namespaces/default/jobs", job(`train-${n}`));
    await allRun("every place is taken", PLACES);
    await until("all jobs have their pods", [], async () => {
      return trainings().length === JOBS * PODS_OF_JOB;
    });
    // A pod that the scheduler was too slow for is evicted, and its replacement waits.
    await until("the others wait", [], async () => {
      return gated(trainings()).length === JOBS * PODS_OF_JOB - PLACES;
    });
    await until("pods that wait are told why", [], async () => {
      const { stdout } = await cotenantCluster(cluster(), ["status"]);
      return [PLACES, SERVICES].some((count) =>
        stdout.includes(`wait, NoFreeGpu: No GPU has a place: ${count} have all`),
      );
    });
    expect(invariants.broken()).toEqual([]);
  });

  test("loses no place when the manager that decides is killed in the middle of an interval", async () => {
    const leader = managers.findIndex((one) => one.log().includes("decides from now on"));
    const matches = () => managers[leader]?.log().split("matched with").length ?? 0;
    const before = matches();
    await removeAll(running(trainings()).slice(0, PLACES * 0.06));
    await until("it has begun to fill the places", [], async () => matches() > before);
    await managers[leader]?.kill();
    await allRun("the other manager has filled them", PLACES);
    managers[leader] = await startManager(cluster());
    expect(invariants?.broken()).toEqual([]);
  });

  test("goes on when the API server was killed and etcd was compacted meanwhile", async () => {
    await cluster().restart("kube-apiserver");
    await cluster().compact();
    await removeAll(running(trainings()).slice(0, PLACES * 0.04));
    await allRun("the places are taken again", PLACES);
    expect(invariants?.broken()).toEqual([]);
  });

  test("makes no best-effort pod while the webhook is away or hangs, and services start all the same", async () => {
    const { api } = asked();
    const resume = webhook?.pause();
    await removeAll(running(trainings()).slice(0, PLACES * 0.02));
    await api.create("/api/v1/namespaces/default/pods", {
      ...pods.asObject({ ...pods.high(), metadata: { ...pods.high().metadata, name: "urgent" } }),
    });
    await cluster().ask(["wait", "--for=condition=Ready", "--timeout=300s", "pod/urgent"]);
    expect(trainings().length).toBeLessThan(JOBS * PODS_OF_JOB);
    resume?.();
    await allRun("the places are taken again", PLACES);
    expect(invariants?.broken()).toEqual([]);
  });

  test("heeds a node that is cordoned and a GPU that a stranger takes at once", async () => {
    const [service] = services();
    const node = service?.spec.nodeName ?? "";
    await cluster().ask(["cordon", node]);
    const there = running(trainings()).filter(({ spec }) => spec.nodeName === node);
    expect(there.length).toBeGreaterThan(0);
    await removeAll(there);
    await allRun("the others are full", PLACES - there.length);
    // The GPUs of another node have strangers now.
    const other =
      nodes.find(
        (name) =>
          name !== node &&
          asked()
            .agents.told(name)
            .some(({ podUid }) => podUid),
      ) ?? "";
    await asked().agents.observe(
      other,
      asked()
        .agents.told(other)
        .map((gpu) => ({ ...gpu, podUid: "3f0a4b52-7b0c-4a57-9d4c-64a3a1e4d7d5" })),
    );
    const beside = running(trainings()).filter(({ spec }) => spec.nodeName === other);
    await removeAll(beside);
    await allRun("nothing comes to the strangers", PLACES - there.length - beside.length);
    await cluster().ask(["uncordon", node]);
    await observeServices();
    await allRun("all places are taken", PLACES);
    expect(invariants?.broken()).toEqual([]);
  });

  test("leaves no pod with a gate when all is drained, and touches no service", async () => {
    const { api } = asked();
    await api.create("/apis/cotenant.io/v1alpha1/sharingpolicies", {
      apiVersion: "cotenant.io/v1alpha1",
      kind: "SharingPolicy",
      metadata: { name: "default" },
      spec: { drain: true, evictionsPerMinute: 6000 },
    });
    await allRun("nothing runs concurrently with services", 0);
    expect(running(services())).toHaveLength(SERVICES);
    expect(invariants?.broken()).toEqual([]);
    expect(invariants?.looks()).toBeGreaterThan(10);
  });
});
