// The machine as an input of suites: another tool, or one that was missing, may change what a test says.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { release } from "node:os";

/** Debian packages whose version, or absence, tests notice: missing ones mean skipped tests. */
const packages = [
  ...["g++", "gcc", "libc6", "libstdc++6", "make", "python3", "valgrind", "gdb", "ccache"],
  ...["containerd", "runc", "podman", "buildah", "mmdebstrap", "musl-tools", "qemu-user"],
  ...["g++-aarch64-linux-gnu", "systemd", "munge", "slurmctld", "slurmd", "slurm-client"],
  ...["prometheus", "chromium", "tmux", "zsh", "fish", "groff", "openssl", "iproute2"],
];

/** Describes this machine's kernel, release, tools and user; equal texts mean that results hold. */
export function describeMachine(): string {
  const first = (program: string, ...args: string[]): string =>
    spawnSync(program, args, { encoding: "utf8" }).stdout?.split("\n")[0] ?? "missing";
  const installed = spawnSync("dpkg-query", ["--show", ...packages], { encoding: "utf8" }).stdout;
  return [
    process.version,
    release(),
    existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "no /etc/os-release",
    `user ${process.getuid?.() === 0 ? "root" : "other"}`,
    first("g++", "--version"),
    first("python3", "--version"),
    first("go", "version"),
    `CUDA ${process.env.CUDA_HOME ? "present" : "missing"}`,
    `NVIDIA ${existsSync("/dev/nvidiactl") ? "present" : "missing"}`,
    installed ?? "no dpkg-query",
  ].join("\n");
}
