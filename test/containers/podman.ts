// Podman with runc: it reads the specification itself and applies the device.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { eventually } from "../e2e/machine.ts";
import { makeRoot, readOnlyMounts } from "./image.ts";
import { inForeground, type StartRuntime } from "./runtime.ts";

/** A container of a test that failed ends then. */
const LONGEST_S = 900;

/** Podman 4 looks for specifications in fixed folders only, so it gets a /run of its own. */
const script = `mount -t tmpfs none /run && mkdir /run/cdi && cp "$1" /run/cdi/cotenant.json && shift && exec podman "$@"`;

/** Podman as the first words of a command line, with images and containers below `folder`. */
export const podmanIn = (folder: string): readonly string[] => [
  ...["podman", "--root", join(folder, "storage"), "--runroot", "/run/podman-test"],
  ...["--tmpdir", "/run/podman-tmp", "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"],
  ...["--events-backend", "none", "--runtime", "runc"],
];

/** Its defaults are above what a machine of CI may have. */
export const limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"] as const;

/** When the test has finished, waits for what Podman leaves behind a container, which still makes folders in its storage. */
export function waitForPodmanIn(folder: string): void {
  onTestFinished(() => eventually("Podman has left", () => !isNamed(folder)));
}

/** Whether the command line of a process names the folder, as those of conmon and of its cleanup do. */
const isNamed = (folder: string) =>
  readdirSync("/proc").some((pid) => /^\d+$/.test(pid) && commandLine(pid).includes(folder));

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // it has ended
  }
}

export const startPodman: StartRuntime = async (folder, document) => {
  mkdirSync(folder);
  waitForPodmanIn(folder);
  const specification = join(folder, "cotenant.json");
  writeFileSync(specification, JSON.stringify(document));
  return {
    run({ name, uid, device, command }) {
      const root = makeRoot(join(folder, name));
      const mounts = readOnlyMounts().flatMap(({ from, to }) => ["--volume", `${from}:${to}:ro`]);
      const container = [
        ...["run", "--rm", "--name", name, "--network", "none", "--user", `${uid}:${uid}`],
        ...["--timeout", `${LONGEST_S}`],
        ...limits,
        ...["--device", `cotenant.io/class=${device}`, ...mounts, "--rootfs", root, ...command],
      ];
      const [podman = "", ...options] = podmanIn(folder);
      const words = [podman, specification, ...options, ...container];
      return inForeground("unshare", ["--mount", "sh", "-c", script, ...words]);
    },
  };
};
