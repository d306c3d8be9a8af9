// containerd with runc, with folders and a socket of its own. Its `ctr` knows CDI only since 2.0, so the edits are
// applied to the configuration of the container here.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { CdiDocument } from "#client";
import { eventually } from "../e2e/machine.ts";
import { makeRoot, readOnlyMounts } from "./image.ts";
import { type ContainerOptions, inForeground, type StartRuntime } from "./runtime.ts";

/** The one that `ctr` uses if none is named. Agents know a container by its cgroup, which has this name. */
const NAMESPACE = "default";

export const startContainerd: StartRuntime = async (folder, document) => {
  mkdirSync(folder);
  const socket = join(folder, "containerd.sock");
  const settings = join(folder, "config.toml");
  writeFileSync(settings, settingsIn(folder, socket));
  const daemon = spawn("containerd", ["--config", settings], { stdio: "ignore" });
  const ended = new Promise((resolve) => daemon.on("close", resolve));
  const names: string[] = [];
  const ctr = ["--address", socket, "--namespace", NAMESPACE];
  onTestFinished(async () => {
    for (const name of names) quietly("ctr", [...ctr, "task", "rm", "--force", name]);
    daemon.kill();
    await ended;
  });
  await eventually("containerd listens", () => existsSync(socket));
  return {
    run(options) {
      const { name } = options;
      names.push(name);
      const home = join(folder, name);
      mkdirSync(home);
      const config = join(home, "config.json");
      writeFileSync(config, JSON.stringify(configuration(home, options, document)));
      return inForeground("ctr", [
        ...[...ctr, "run", "--rm", "--fifo-dir", join(home, "streams")],
        ...["--config", config, name],
      ]);
    },
  };
};

const settingsIn = (folder: string, socket: string) => `version = 2
root = "${folder}/root"
state = "${folder}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
[grpc]
address = "${socket}"
`;

/** A configuration as in runc's own example, with own PID, mount, IPC, UTS and network namespaces. */
function configuration(home: string, options: ContainerOptions, document: CdiDocument) {
  execFileSync("runc", ["spec"], { cwd: home });
  const example = JSON.parse(readFileSync(join(home, "config.json"), "utf8"));
  const device = document.devices.find(({ name }) => name === options.device);
  const { env, mounts } = device?.containerEdits ?? { env: [], mounts: [] };
  return {
    ...example,
    root: { path: makeRoot(join(home, "root")), readonly: false },
    process: {
      ...example.process,
      terminal: false,
      user: { uid: options.uid, gid: options.uid },
      args: options.command,
      env: [...example.process.env, ...env],
    },
    linux: { ...example.linux, cgroupsPath: `/${NAMESPACE}/${options.name}` },
    mounts: [
      ...example.mounts,
      ...readOnlyMounts().map(({ from, to }) => bind(from, to, ["rbind", "ro"])),
      ...mounts.map(({ hostPath, containerPath, options: how }) =>
        bind(hostPath, containerPath, how),
      ),
    ],
  };
}

const bind = (source: string, destination: string, options: readonly string[]) => ({
  destination,
  type: "bind",
  source,
  options,
});

function quietly(program: string, args: readonly string[]): void {
  try {
    execFileSync(program, args, { stdio: "ignore" });
  } catch {
    // it has ended already
  }
}
