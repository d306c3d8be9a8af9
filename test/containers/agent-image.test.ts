// The image that scripts/image makes: an agent of the machine in a container, and a client in another one.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Status } from "#agent";
import { training } from "../e2e/faults.ts";
import { eventually } from "../e2e/machine.ts";
import { limits, podmanIn, waitForPodmanIn } from "./podman.ts";
import { forbidden, missing } from "./possible.ts";
import { inForeground } from "./runtime.ts";

const IMAGE = "localhost/cotenant";
const why = [...missing(["podman", "runc", "mmdebstrap", "buildah"]), ...forbidden()];
if (why.length > 0) console.error(`SKIPPED: the image, because ${why.join(", ")}.`);

test.skipIf(why.length > 0)("the image's agent serves a client of the image", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cotenant-image-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  waitForPodmanIn(folder);
  const [program = "", ...options] = podmanIn(folder);
  const podman = (...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(program, [...options, ...args], {
      encoding: "utf8",
    });
    expect(status, stderr).toBe(0);
    return stdout;
  };
  const made = spawnSync("scripts/image", [join(folder, "image.tar")], { encoding: "utf8" });
  expect(made.status, made.stderr).toBe(0);
  podman("load", "--input", join(folder, "image.tar"));

  const run = join(folder, "run");
  mkdirSync(run, { mode: 0o755 });
  const start = (name: string, own: readonly string[], words: readonly string[]) => {
    const common = ["run", "--rm", "--name", name, "--network", "none", ...limits];
    const container = [...common, "--volume", `${run}:/run/cotenant`, ...own, IMAGE, ...words];
    const started = inForeground(program, [...options, ...container]);
    onTestFinished(async () => {
      spawnSync(program, [...options, "kill", name]);
      await started.ended; // it removes the container, whose mounts are in the folder
    });
    return started;
  };
  // As deploy/compose has it.
  const rights = ["--cap-drop=ALL", "--cap-add=SYS_PTRACE,DAC_READ_SEARCH,KILL"];
  const agent = `agent-${process.pid}`;
  const up = ["up", "--system", "--foreground", "--gpu", "soft"];
  start(agent, ["--pid=host", "--cgroupns=host", ...rights], up);
  const ask = () =>
    spawnSync(program, [...options, "exec", agent, "cotenant", "status", "--json"], {
      encoding: "utf8",
    });
  await eventually("the agent answers", () => ask().status === 0);

  const variables = [
    "LD_PRELOAD=/opt/cotenant/build/native/libcotenant.so",
    "LD_LIBRARY_PATH=/opt/cotenant/build/native/softgpu",
    "COTENANT_SOFTGPU_DIR=/run/cotenant/softgpu",
    "COTENANT_SOCKET=/run/cotenant/shared/agent.sock",
    "COTENANT_CLASS=best-effort",
    "COTENANT_NAME=train",
  ].map((variable) => `--env=${variable}`);
  const client = start(
    `train-${process.pid}`,
    ["--user=2000:2000", ...variables],
    [...["load", ...training, "--json"]],
  );
  await client.said("load: serving");
  const [known] = (JSON.parse(ask().stdout) as Status).gpus.flatMap((gpu) => gpu.bestEffort);
  expect(known).toMatchObject({ name: "train", identity: { uid: 2000 } });
  process.kill(known?.pid ?? 0, "SIGTERM");
  const { status, stdout } = await client.ended;
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ intact: true });
});
