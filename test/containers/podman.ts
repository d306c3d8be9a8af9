// Podman with runc: it reads the specification itself and applies the device.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeRoot, readOnlyMounts } from "./image.ts";
import { inForeground, type StartRuntime } from "./runtime.ts";

/** A container of a test that failed ends then. */
const LONGEST_S = 900;

/** Podman 4 looks for specifications in fixed folders only, so it gets a /run of its own. */
const script = `mount -t tmpfs none /run && mkdir /run/cdi && cp "$1" /run/cdi/cotenant.json && shift && exec podman "$@"`;

export const startPodman: StartRuntime = async (folder, document) => {
  mkdirSync(folder);
  const specification = join(folder, "cotenant.json");
  writeFileSync(specification, JSON.stringify(document));
  const place = [
    "--root",
    join(folder, "storage"),
    "--runroot",
    "/run/podman-test",
    "--tmpdir",
    "/run/podman-tmp",
  ];
  const plain = [
    "--storage-driver",
    "vfs",
    "--cgroup-manager",
    "cgroupfs",
    "--events-backend",
    "none",
  ];
  return {
    run({ name, uid, device, command }) {
      const root = makeRoot(join(folder, name));
      const mounts = readOnlyMounts().flatMap(({ from, to }) => ["--volume", `${from}:${to}:ro`]);
      const container = [
        ...["run", "--rm", "--name", name, "--network", "none", "--user", `${uid}:${uid}`],
        ...["--timeout", `${LONGEST_S}`],
        // Its defaults are above what a machine of CI may have.
        ...["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"],
        ...["--device", `cotenant.io/class=${device}`, ...mounts, "--rootfs", root, ...command],
      ];
      const words = [
        "podman",
        specification,
        ...place,
        ...plain,
        "--runtime",
        "runc",
        ...container,
      ];
      return inForeground("unshare", ["--mount", "sh", "-c", script, ...words]);
    },
  };
};
