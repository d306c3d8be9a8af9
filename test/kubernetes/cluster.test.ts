// The cluster that other tests stand on is Kubernetes: what it is trusted with here, a real one does.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { until } from "./cluster.ts";
import { clusterHere, whyNot } from "./here.ts";
import { addNodes } from "./nodes.ts";
import { claim, deviceClass, pod, sliceOn } from "./objects.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: tests on a cluster, because ${why}`);

describe.skipIf(why !== undefined)("a cluster of Kubernetes' own programs", () => {
  const cluster = clusterHere((started) => addNodes(started, ["a", "b"], { gpus: 2 }));

  const read = async (...args: string[]) =>
    JSON.parse(await cluster().ask(["get", ...args, "-o", "json"]));
  const eventually = (what: string, holds: () => Promise<boolean>) => until(what, [], holds);

  test("tells the version that it was compiled from", async () => {
    const { gitVersion } = JSON.parse(await cluster().ask(["get", "--raw=/version"]));
    const modules = readFileSync("test/kubernetes/modules/kubernetes/go.mod", "utf8");
    expect(gitVersion).toBe(/k8s.io\/kubernetes (\S+)/.exec(modules)?.[1]);
  });

  test("schedules a pod where it fits, and keeps one that fits nowhere", async () => {
    await cluster().ask(["create", "-f", "-"], pod("fits", { "nvidia.com/gpu": "2" }));
    await cluster().ask(["create", "-f", "-"], pod("too-large", { "nvidia.com/gpu": "3" }));
    await cluster().ask(["wait", "--for=condition=Ready", "--timeout=300s", "pod/fits"]);
    await cluster().ask([
      ...["wait", "--for=condition=PodScheduled=False", "--timeout=300s", "pod/too-large"],
    ]);
    const { spec, status } = await read("pod", "too-large");
    expect(spec.nodeName).toBeUndefined();
    expect(status.conditions[0].message).toContain("Insufficient nvidia.com/gpu");
    await cluster().ask(["delete", "pod", "fits", "too-large", "--wait=true"]);
  });

  test("has controllers: the pods of a Deployment come back", async () => {
    await cluster().ask(["create", "deployment", "kept", "--image=none", "--replicas=2"]);
    await cluster().ask(["wait", "--for=condition=Available", "--timeout=300s", "deployment/kept"]);
    const first = await read("pods", "-l", "app=kept");
    const gone: string = first.items[0].metadata.name;
    await cluster().ask(["delete", "pod", gone, "--wait=true"]);
    await cluster().ask(["wait", "--for=condition=Available", "--timeout=300s", "deployment/kept"]);
    const then = await read("pods", "-l", "app=kept");
    const names = then.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    expect(names).toHaveLength(2);
    expect(names).not.toContain(gone);
    await cluster().ask(["delete", "deployment", "kept"]);
  });

  test("divides a device among claims as far as its capacity goes, and evicts by its taint", async () => {
    await cluster().ask(["create", "-f", "-"], deviceClass);
    await cluster().ask(["create", "-f", "-"], sliceOn("a", []));
    const names = ["one", "two", "three"];
    for (const name of names) {
      await cluster().ask(["create", "-f", "-"], claim(name));
      await cluster().ask(["create", "-f", "-"], pod(name, {}, name));
    }
    const placed = async () => {
      const { items } = await read("pods", ...names);
      return items.filter(({ spec }: { spec: { nodeName?: string } }) => spec.nodeName === "a");
    };
    const refused = async () => {
      const { items } = await read("pods", ...names);
      return items.filter((item: { status: { conditions?: { reason?: string }[] } }) =>
        item.status.conditions?.some(({ reason }) => reason === "Unschedulable"),
      );
    };
    // Two of the three slots that the claims want are there.
    await eventually("two pods share the device, and one waits", async () => {
      return (await placed()).length === 2 && (await refused()).length === 1;
    });
    const claims = await read("resourceclaims");
    const allocated = claims.items.flatMap(
      (item: { status?: { allocation?: { devices: { results: object[] } } } }) =>
        item.status?.allocation?.devices.results ?? [],
    );
    expect(allocated).toHaveLength(2);
    for (const result of allocated)
      expect(result).toMatchObject({
        device: "gpu-0",
        consumedCapacity: { slots: "1", memory: "10Gi" },
      });

    const taint = { key: "cotenant.io/overlimit", effect: "NoExecute" };
    await cluster().ask(["replace", "-f", "-"], sliceOn("a", [taint]));
    await eventually("the pods with the device are evicted", async () => {
      const { items } = await read("pods");
      return items.every(({ spec }: { spec: { nodeName?: string } }) => spec.nodeName !== "a");
    });
  });
});

/** The processes whose command line names a folder. */
const processesIn = (folder: string): readonly string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandLineOf(pid).includes(folder));

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // it has ended
  }
}

test.skipIf(why !== undefined)("npm run kubernetes leaves nothing after Ctrl-C", async () => {
  const child = spawn("npm", ["run", "--silent", "kubernetes"], { detached: true });
  let said = "";
  child.stdout.on("data", (chunk) => (said += chunk));
  const ended = new Promise((resolve) => child.on("close", resolve));
  await until("it says where the cluster is", [], async () => said.includes("export PATH"));
  const kubeconfig = /KUBECONFIG=(.*)/.exec(said)?.[1] ?? "";
  const folder = kubeconfig.replace(/\/[^/]*$/, "");
  expect(existsSync(kubeconfig)).toBe(true);
  expect(processesIn(folder)).not.toEqual([]);
  // Ctrl-C in a terminal is a signal to all processes of the group.
  process.kill(-(child.pid ?? 0), "SIGINT");
  await ended;
  expect(existsSync(folder)).toBe(false);
  expect(processesIn(folder)).toEqual([]);
});
