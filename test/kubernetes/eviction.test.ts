// A best-effort pod leaves its GPU and goes on at another one from its checkpoint; the services stay where they are.
import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { service } from "../e2e/faults.ts";
import { whyNot } from "./here.ts";
import { type Fleet, type FleetNode, startFleet } from "./machines/fleet.ts";
import type { Listed } from "./machines/kinds.ts";
import { loadPod, trainerPod, whyNoMachines } from "./machines/pods.ts";
import * as pods from "./pods.ts";

const why = whyNot() ?? whyNoMachines();
if (why !== undefined) console.error(`SKIPPED: pods that go elsewhere, because ${why}`);

/** As the guide has it. With it a Job makes no other pod before the last one has ended, which would write checkpoints, too. */
const evictionsAreNoFailures = {
  rules: [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }],
};

const cool = { temperatureC: 60, slowdownC: 90 };
const hot = { temperatureC: 97, slowdownC: 90 };

describe.skipIf(why !== undefined)("on two machines with a GPU each", () => {
  let fleet: Fleet;
  let one: FleetNode;
  let other: FleetNode;
  let kept: string;
  /** The pod of the Job that runs now. */
  let training: Listed | undefined;
  const services = new Map<string, Listed>();

  beforeAll(async () => {
    fleet = await startFleet(["node-1", "node-2"], "webhook");
    [one, other] = fleet.nodes as [FleetNode, FleetNode];
    for (const node of fleet.nodes) node.pretend(cool);
    kept = join(fleet.cluster.folder, "kept");
    mkdirSync(kept);
    chmodSync(kept, 0o777);
    await serve(one);
    const trainer = pods.bestEffort();
    trainer.metadata.annotations = {
      ...trainer.metadata.annotations,
      "cotenant.io/movable": "true",
    };
    const job = pods.jobOf(trainerPod(trainer, 2000, kept), "train");
    await fleet.create({ ...job, spec: { ...job.spec, podFailurePolicy: evictionsAreNoFailures } });
    training = await runsOn(one);
    await serve(other);
  });
  afterAll(() => fleet?.stop());

  /** Starts a service on a node. */
  async function serve(node: FleetNode): Promise<void> {
    const pod = pods.high();
    pod.metadata.name = `serve-${node.name}`;
    pod.spec.nodeSelector = { "kubernetes.io/hostname": node.name };
    await fleet.create(pods.asObject(loadPod(pod, 1000, service)));
    await fleet.eventually("the service is a client", () => node.gpu()?.high.length === 1);
    services.set(node.name, await fleet.read("pod", pod.metadata.name));
  }

  const steps = (): number => {
    try {
      return JSON.parse(readFileSync(join(kept, "checkpoint"), "utf8")).steps;
    } catch {
      return 0; // there is none yet
    }
  };
  const trainings = async (): Promise<readonly Listed[]> =>
    (await fleet.read("pods", "-l", "app=train")).items;

  /** Waits until another training than before runs on a node and writes checkpoints. */
  async function runsOn(node: FleetNode): Promise<Listed> {
    let found: Listed | undefined;
    await fleet.eventually(`a training runs on ${node.name}`, async () => {
      const [client] = node.gpu()?.bestEffort ?? [];
      found = (await trainings()).find(({ metadata }) => metadata.uid === client?.identity?.pod);
      return found !== undefined && found.metadata.uid !== training?.metadata.uid;
    });
    const written = steps();
    await fleet.eventually("it writes checkpoints", () => steps() > written);
    if (found === undefined) throw new Error("there is no training");
    return found;
  }

  const beganAt = (node: FleetNode, pod: Listed): number =>
    JSON.parse(node.logOf(pod).split("\n")[0] ?? "").begins;

  async function servicesWereNotTouched(): Promise<void> {
    for (const [node, before] of services) {
      const { metadata, status }: Listed = await fleet.read("pod", `serve-${node}`);
      expect(metadata.uid).toBe(before.metadata.uid);
      expect(status.containerStatuses).toMatchObject([{ restartCount: 0, state: { running: {} } }]);
    }
  }

  test("over its limit a GPU gives its training away: parked, evicted, and elsewhere from its checkpoint", async () => {
    const written = steps();
    expect(written).toBeGreaterThan(0);
    one.pretend(hot);
    // It stays parked for the grace of the taint, and then that of the pod: half a minute.
    await fleet.eventually("it is parked", () => {
      return one.gpu()?.bestEffort[0]?.memory?.state === "parked";
    });
    await fleet.eventually("its device has a taint that evicts", async () => {
      const { items } = await fleet.read("resourceslices");
      return JSON.stringify(items).includes('"effect":"NoExecute","key":"cotenant.io/health"');
    });
    training = await runsOn(other);
    expect(beganAt(other, training)).toBeGreaterThanOrEqual(written);
    const claim = training.spec.resourceClaims?.[0]?.resourceClaimName ?? "";
    expect(await fleet.read("resourceclaim", claim)).toMatchObject({
      status: { allocation: { devices: { results: [{ pool: other.name }] } } },
    });
    await servicesWereNotTouched();

    one.pretend(cool);
    await fleet.eventually("the GPU has no taint any more", async () => {
      return !JSON.stringify(await fleet.read("resourceslices")).includes("cotenant.io/health");
    });
  });

  test("a node whose container runtime has no NRI says so, and the webhook has given services the library", async () => {
    await fleet.eventually("the condition says so", async () => {
      const { status } = await fleet.read("gpunode", one.name);
      return (
        status?.conditions.some(
          ({ type, reason, message }) =>
            type === "Injecting" &&
            reason === "NotConnected" &&
            message.startsWith("High pods get the library from the webhook alone: "),
        ) === true
      );
    });
    const { spec } = await fleet.read("pod", `serve-${one.name}`);
    expect(spec.containers[0]?.env?.map(({ name }) => name)).toContain("COTENANT_CLASS");
  });

  test("a drained node gives its training away, and its service stays if it is told to", async () => {
    const written = steps();
    await fleet.cluster.ask(["drain", other.name, "--pod-selector=app=train", "--timeout=300s"]);
    training = await runsOn(one);
    expect(beganAt(one, training)).toBeGreaterThanOrEqual(written);
    await servicesWereNotTouched();
  });
});
