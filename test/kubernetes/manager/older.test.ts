// A cluster without the feature that lets several claims share a device is one in which no GPU is offered.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type NodeGpu, Publisher } from "#kubernetes/node";
import { asAdministrator } from "../agents.ts";
import { type Cluster, startCluster } from "../cluster.ts";
import { installCotenant } from "../cotenant.ts";
import { whyNot } from "../here.ts";
import { addNodes } from "../nodes.ts";
import { programFolders } from "../programs.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: tests of an older cluster, because ${why}`);

describe.skipIf(why !== undefined)("without consumable capacity", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(programFolders(false), {
      featureGates: "DRAConsumableCapacity=false",
    });
    await addNodes(cluster, ["a"], { gpus: 1 });
    await installCotenant(cluster);
  });
  afterAll(() => cluster?.stop());

  test("a node withdraws its GPUs and says what is missing", async () => {
    const gpu: NodeGpu = {
      ...{ uuid: "GPU-a", model: "none", healthy: true, because: undefined, served: true },
      ...{ starting: false, slots: 2, memoryBytes: 2 ** 30, serviceBytes: 0, activeShare: 0 },
      ...{ podUid: "uid", taints: [], hold: undefined, older: 0 },
    };
    const publisher = new Publisher(asAdministrator(cluster), "a");
    await publisher.begin();
    await expect(
      publisher.publish([gpu], { problem: undefined, missed: [] }, Date.now()),
    ).rejects.toThrow("with the feature gate DRAConsumableCapacity on. This node offers no GPU");
    const { items } = JSON.parse(await cluster.ask(["get", "resourceslices", "-o", "json"]));
    expect(items).toEqual([]);
  });
});
