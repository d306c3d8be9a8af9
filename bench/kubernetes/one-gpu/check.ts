// Says in the first seconds of one-gpu.ts what would fail after minutes: what machine.sh finds missing, and whether runc
// starts a container with the folders, the devices and the user that pods have, in which the programs find what they need.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeRoot } from "../../../test/containers/image.ts";
import type { MachineGpu } from "../../../test/kubernetes/machines/cotenant.ts";
import { machineFolders } from "../../../test/kubernetes/machines/image.ts";
import type { Programs } from "./pods.ts";

/** Throws with a sentence for each thing that is missing. */
export function checkMachine(kind: "real" | "soft"): void {
  const script = fileURLToPath(new URL("machine.sh", import.meta.url));
  const { status, stderr } = spawnSync("bash", [script, kind], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr.trim());
}

/** Runs the programs' trial in a container. Throws with what runc or the program said. */
export function tryContainer(
  { forContainers }: MachineGpu,
  { trial, user, env, folders }: Programs,
): string {
  const folder = mkdtempSync(join(tmpdir(), "one-gpu-trial-"));
  try {
    makeRoot(join(folder, "root"));
    const bound = [
      ...machineFolders(),
      ...folders.map((path) => ({ from: path, to: path })),
      ...forContainers.mounts.filter(({ from }) => statSync(from, { throwIfNoEntry: false })),
    ];
    const devices = (forContainers.devices ?? []).map(deviceAt);
    const specification = {
      ociVersion: "1.0.2",
      process: {
        ...{ user: { uid: user, gid: user }, cwd: "/", args: trial, noNewPrivileges: true },
        env: ["PATH=/usr/bin:/bin", ...pairs({ ...env, ...forContainers.envs })],
      },
      root: { path: "root", readonly: false },
      mounts: [
        { destination: "/proc", type: "proc", source: "proc" },
        { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["mode=755"] },
        ...bound.map(({ from, to }) => ({
          ...{ destination: to, type: "bind", source: from, options: ["rbind", "ro"] },
        })),
      ],
      linux: {
        namespaces: ["pid", "ipc", "mount", "cgroup"].map((type) => ({ type })),
        cgroupsPath: `/one-gpu-trial-${process.pid}`,
        devices,
        resources: {
          memory: { limit: 8 * 2 ** 30 },
          pids: { limit: 1000 },
          devices: [
            { allow: false, access: "rwm" },
            ...devices.map(({ type, major, minor }) => ({
              ...{ allow: true, type, major, minor, access: "rwm" },
            })),
          ],
        },
      },
    };
    writeFileSync(join(folder, "config.json"), JSON.stringify(specification));
    const words = ["--root", join(folder, "state"), "run", "--bundle", folder, "one-gpu-trial"];
    const { status, stdout, stderr, error } = spawnSync("runc", words, { encoding: "utf8" });
    if (status !== 0)
      throw new Error(
        `a container by runc alone, with what pods have, fails (${trial.join(" ")}): ${error?.message ?? ""}${(stderr + stdout).trim()}`,
      );
    return stdout.trim();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As an OCI specification has it, with the rights that the machine gives, as pods get it from containerd. */
function deviceAt(path: string) {
  const { mode, uid, gid } = statSync(path);
  const numbers = execFileSync("stat", ["--format", "%t %T", path], { encoding: "utf8" });
  const [major = 0, minor = 0] = numbers.split(" ").map((word) => Number.parseInt(word, 16));
  return { path, type: "c", major, minor, fileMode: mode & 0o777, uid, gid };
}

const pairs = (variables: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(variables).map(([name, value]) => `${name}=${value}`);
