// Whether this machine can run containers.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";

/** Which of these programs are missing here. */
export const missing = (tools: readonly string[]): readonly string[] =>
  tools
    .filter((tool) => spawnSync(tool, ["--version"]).error !== undefined)
    .map((tool) => `${tool} is missing`);

/** Why there can be no container here at all: a sandbox forbids namespaces, or new cgroups. */
export function forbidden(): string[] {
  if (process.getuid?.() !== 0) return ["this is not root"];
  const namespaces = ["--mount", "--pid", "--ipc", "--net", "--fork", "true"];
  if (spawnSync("unshare", namespaces).status !== 0) return ["unshare is not allowed"];
  const [root = ""] = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].filter((path) => existsSync(path));
  const probe = join(root, `cotenant-probe-${process.pid}`);
  try {
    mkdirSync(probe);
    rmdirSync(probe);
    return [];
  } catch {
    return [`no cgroup can be made in ${root}`];
  }
}
