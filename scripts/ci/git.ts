// Reads from git what the choice of suites needs.
import { spawnSync } from "node:child_process";
import type { History } from "./choice.ts";

function git(root: string, ...args: string[]): string | undefined {
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** The history of the clone in `root`. */
export const historyOf = (root: string): History => ({
  shallow: git(root, "rev-parse", "--is-shallow-repository") !== "false",
  commitsSince(commit) {
    const count = git(root, "rev-list", "--count", `${commit}..HEAD`);
    return count === undefined ? undefined : Number(count);
  },
});

/** The full name of the commit that is checked out; "none" before the first. */
export const headOf = (root: string): string => git(root, "rev-parse", "HEAD") ?? "none";
