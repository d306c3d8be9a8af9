// A share of the GPU that somebody gives to a pod, as a cluster's node part does.
import { accessSync, constants, mkdirSync, rmdirSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { runningAgent } from "#agent";
import { askToShare } from "#client";
import { whenActive } from "#protocol";
import { cotenantItself, eventually, startMachine } from "../machine.ts";

const POD = "6f1ed7d2-9c0a-4c27-8f0b-2f8d2b7a9f11";
const root = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"].find((at) => {
  try {
    accessSync(`${at}/cgroup.procs`, constants.W_OK);
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
});

/** A cgroup as kubelet makes it for a container of a pod. */
function containerOf(pod: string): string {
  const folders = ["kubepods", `pod${pod}`, "0123456789abcdef".repeat(4)].map((_, i, all) =>
    [root, ...all.slice(0, i + 1)].join("/"),
  );
  mkdirSync(folders.at(-1) ?? "", { recursive: true });
  onTestFinished(async () => {
    for (const folder of folders.reverse())
      await eventually(`${folder} has no process`, () => {
        try {
          rmdirSync(folder);
          return true;
        } catch {
          return false;
        }
      });
  });
  return folders.at(-1) ?? "";
}

test.runIf(root)(
  "a pod's share bounds what it gets during requests, and only its own",
  async () => {
    const cgroup = containerOf(POD);
    // Without the share nothing waits for requests.
    const machine = await startMachine({}, "--mode", "mps", "--set", "whenActive=allow");
    const load = [...cotenantItself, "load", "--arrivals", "closed", "--seconds", "3600"];
    const words = [...cotenantItself, "run", "--class", "best-effort", "--", ...load];
    const train = machine.elsewhere([
      ...["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', cgroup, ...words],
    ]);
    await train.said("load: serving");
    const agent = runningAgent(machine.directory);
    const [gpu] = (await machine.status()).gpus;
    if (!agent || !gpu) throw new Error("no agent, or no GPU");
    expect(gpu.bestEffort[0]?.identity?.pod).toBe(POD);
    const rules = () => machine.memory().settings;
    expect(rules().whenActive).toBe(whenActive.allow);

    const given = { share: 0.3, from: "the Pairing default/cotenant-1" };
    await askToShare(agent, gpu.uuid, "another-pod", { ...given, share: 0.1 });
    expect((await machine.status()).gpus[0]?.shareBound).toBe(undefined);
    await askToShare(agent, gpu.uuid, POD, given);
    const status = (await machine.status()).gpus[0];
    expect(status?.shareBound).toEqual({ ...given, effect: "limits" });
    expect(status?.bestEffort[0]?.givenShare).toEqual(given);
    expect(rules().whenActive).toBe(whenActive.wait);
    expect(rules().coRunSliceUs / rules().coRunEveryUs).toBeLessThanOrEqual(given.share);
    expect(rules().coRunSliceUs).toBeGreaterThan(0);
    const { stdout } = await machine.cotenant(["status"]);
    expect(stdout.replace(/\s+/g, " ")).toContain(
      "best-effort work gets at most 30 % of the GPU during requests, by the Pairing default/cotenant-1",
    );
    await expect(askToShare(agent, gpu.uuid, POD, { ...given, share: 2 })).rejects.toThrow("400");

    await askToShare(agent, gpu.uuid, POD, undefined);
    expect(rules().whenActive).toBe(whenActive.allow);
    await askToShare(agent, gpu.uuid, POD, given);
    train.signal("SIGTERM");
    await train.ended;
    await eventually("a pod that is gone bounds nothing", async () => {
      const [left] = (await machine.status()).gpus;
      return left?.shareBound === undefined;
    });
  },
);
