// Reports keep what sharing brought beyond pods and Pairings; a command and metrics show it.
import { expect, test } from "vitest";
import { until } from "../cluster.ts";
import { cotenantCluster } from "../cotenant.ts";
import { whyNot } from "../here.ts";
import * as pods from "../pods.ts";
import { managedCluster } from "./managed.ts";

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
    await cluster().ask(["create", "-f", "-"], {
      apiVersion: "cotenant.io/v1alpha1",
      kind: "SharingPolicy",
      metadata: { name: "default" },
      spec: { drain: true },
    });
    await until("it is evicted", [], async () => managed.managerLog().includes("drained from"));
    await cluster().ask(["delete", "sharingpolicy", "default"]);
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
    const text = await report("default", "--weeks", "1");
    expect(text).toMatch(/^\d{4}-W\d{2} +default +3\.0 +\d drain$/m);
    expect(text).toMatch(/^\d{4}-W\d{2} +default\/serve-a +3\.0 +0 % +<= 5 %$/m);
  },
);
