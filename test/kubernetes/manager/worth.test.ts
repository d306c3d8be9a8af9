// Reports keep what sharing brought beyond pods and Pairings; a command and metrics show it.
import { expect, test } from "vitest";
import { until } from "../cluster.ts";
import { cotenantCluster } from "../cotenant.ts";
import { whyNot } from "../here.ts";
import * as pods from "../pods.ts";
import { GIB, managedCluster } from "./managed.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: tests of reports, because ${why}`);

const managed = managedCluster(["a"]);
const { cluster, read, create, podsOf, isScheduled, serve, observe, reportedOn } = managed;

/** The counters of the node for the pod that runs there. */
const counted = (podUid: string, hours: number, slowdownSeconds: object) =>
  observe("a", {
    ...reportedOn("a"),
    ...{ recovered: [{ podUid, namespace: "default", gpuSeconds: 3600 * hours }], slowdownSeconds },
  });

const service = {
  unit: "burst",
  perS: 60,
  p50Us: 1100,
  p99Us: 3000,
  soloP50Us: 1000,
  soloP99Us: 2000,
};
const pair = {
  ...{
    retained: 0.6,
    by: "work",
    seconds: 600,
    load: 0.2,
    perS: 60,
    soloPerS: 100,
    soloBusy: 0.9,
    service,
  },
  ...{ policy: "cotenant", mode: "isolated", model: "H200", others: 0 },
};
const measuredPair = { retained: 0.6, slowdown: 1.02, at: "2026-11-30T12:00:00Z", pair };

test.skipIf(why !== undefined)(
  "GPU-hours, evictions and slowdown of a week outlive pods, Pairings and managers",
  async () => {
    const report = async (...args: string[]) =>
      (await cotenantCluster(cluster(), ["report", ...args])).stdout;
    expect(await report()).toContain("Nothing was recovered yet.");
    await serve("a");
    await create(pods.jobOf(pods.bestEffort(), "train"));
    await isScheduled("train");
    const [pod] = await podsOf("train");
    const recovered = async (hours: number) =>
      (
        await (
          await fetch(managed.metrics().url, {
            headers: { authorization: `Bearer ${managed.metrics().token}` },
          })
        ).text()
      ).includes(`recovered_gpu_seconds_total{namespace="default"} ${3600 * hours}\n`);
    await counted(pod.metadata.uid, 2, { "1": 5400, "1.05": 1700, "1.5": 100 });
    await until("two hours are counted", [], () => recovered(2));
    // The node part was restarted: its counters began again.
    await counted(pod.metadata.uid, 1, { "1": 3600 });
    await until("three hours are counted", [], () => recovered(3));
    const pairing = async () => (await read("pairings")).items[0];
    await until("it has a Pairing", [], async () => (await pairing()) !== undefined);
    const { metadata } = await pairing();
    // When a share has followed the load twice, the manager has seen the Pairings as they were before.
    const hasSeenPairings = async () => {
      for (const activeShare of [0.8, 0.1]) {
        const { share } = (await pairing()).spec;
        await observe("a", { ...reportedOn("a"), activeShare });
        await until("a share follows", [], async () => (await pairing()).spec.share !== share);
      }
    };
    const status = JSON.stringify({ status: { measured: measuredPair } });
    await cluster().ask([
      "patch",
      "pairing",
      metadata.name,
      "--subresource=status",
      "--type=merge",
      "-p",
      status,
    ]);
    await hasSeenPairings();
    await cluster().ask(["create", "-f", "-"], {
      apiVersion: "cotenant.io/v1alpha1",
      kind: "SharingPolicy",
      metadata: { name: "default" },
      spec: { drain: true },
    });
    await until("it is evicted", [], async () => managed.managerLog().includes("drained from"));
    await cluster().ask(["delete", "sharingpolicy", "default"]);
    const isNext = (one: { metadata: { uid: string } } | undefined) =>
      one !== undefined && one.metadata.uid !== metadata.uid;
    await until("its next pod has a Pairing", [], async () => {
      const { items } = await read("pairings");
      return items.length === 1 && isNext(items[0]);
    });
    await hasSeenPairings();
    await managed.stopManager();
    const weeks = JSON.parse(await report("--json"));
    expect(weeks).toEqual([
      {
        week: expect.stringMatching(/^\d{4}-W\d{2}$/),
        ...{ namespace: "default", recoveredGpuHours: 3 },
        evictions: { drain: expect.any(Number) },
        services: [
          { name: "serve-a", sharedHours: expect.closeTo(3), slowdownP50: 1, slowdownP99: 1.05 },
        ],
      },
    ]);
    await cluster().ask(["delete", "jobs,pods", "--all", "--wait=true"]);
    await until("its Pairing is gone", [], async () => (await read("pairings")).items.length === 0);
    const [kept] = (await read("sharingreports")).items;
    expect(kept.status.pairs).toEqual([
      {
        ...{ pairing: metadata.uid, at: measuredPair.at, measured: pair, ended: "drain" },
        job: { workload: expect.any(String) },
        service: { workload: expect.any(String) },
        predicted: { retained: expect.any(Number), from: "turns" },
      },
    ]);
    const text = await report("default", "--weeks", "1");
    expect(text).toMatch(/^\d{4}-W\d{2} +default +3\.0 +\d drain$/m);
    expect(text).toMatch(/^\d{4}-W\d{2} +default\/serve-a +3\.0 +0 % +<= 5 %$/m);
  },
);

test.skipIf(why !== undefined)(
  "what pods ask of a GPU is one row for each workload, whoever makes them and wherever they run",
  async () => {
    await managed.startManager();
    const requests = { unit: "burst", p50Us: 4000, perS: 50 };
    const clientsOf = async (job: object) => {
      const { items } = await read("pods");
      const [service] = items.filter(
        ({ metadata }: { metadata: { name: string } }) => metadata.name === "serve-a",
      );
      const [trainer] = items.filter(
        ({ metadata }: { metadata: { name: string } }) => metadata.name !== "serve-a",
      );
      return [
        { podUid: service.metadata.uid, seconds: 90, memoryBytes: 2 * GIB, ...requests },
        { podUid: trainer.metadata.uid, seconds: 60, memoryBytes: 3 * GIB, ...job },
      ];
    };
    // Pods of another Job have other labels.
    const runs = async (name: string, job: object) => {
      await create(pods.jobOf(pods.bestEffort(), name));
      await isScheduled(name);
      await observe("a", { ...reportedOn("a"), clients: await clientsOf(job) });
      // The manager has seen it when the share has followed the load that was observed with it.
      const pairing = async () => (await read("pairings")).items[0];
      await until("it has a Pairing", [], async () => (await pairing()) !== undefined);
      for (const activeShare of [0.8, 0.1]) {
        const { share } = (await pairing()).spec;
        await observe("a", { ...reportedOn("a"), activeShare });
        await until("a share follows", [], async () => (await pairing()).spec.share !== share);
      }
      await cluster().ask(["delete", "job", name, "--wait=true"]);
      await until("its Pairing is gone", [], async () => {
        return (await read("pairings")).items.length === 0;
      });
    };
    await serve("a");
    await runs("first", { busy: 0.4 });
    await runs("second", {});
    await managed.stopManager();
    const [{ status }] = (await read("sharingreports")).items;
    const at = expect.any(String);
    expect(
      status.workloads.filter(({ memoryBytes }: { memoryBytes: number }) => memoryBytes > GIB),
    ).toEqual(
      expect.arrayContaining([
        {
          ...{ workload: expect.any(String), class: "high", model: "none", at, ...requests },
          ...{ seconds: 90, memoryBytes: 2 * GIB },
        },
        {
          ...{ workload: expect.any(String), class: "best-effort", model: "none", at, busy: 0.4 },
          ...{ seconds: 60, memoryBytes: 3 * GIB },
        },
      ]),
    );
    expect(status.workloads).toHaveLength(2);
  },
);
