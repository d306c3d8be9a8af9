// A program that a test waits for in vain: what its threads do is said before it is killed.
import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

export interface Ended {
  /** The exit status; null: ended by `signal`. */
  status: number | null;
  signal: string | null;
  stderr: string;
  /** It was killed, because it had not ended in time. */
  hung: boolean;
}

const read = (file: string): string => {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return "?";
  }
};

/** The process and all that descend from it, parents first. */
function familyOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const parent = Number(/^PPid:\s*(\d+)$/m.exec(read(`/proc/${name}/status`))?.[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const family = [pid];
  for (const one of family) family.push(...(children.get(one) ?? []));
  return family;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended meanwhile.
  }
}

/** Each thread's name, state and place in the kernel; with gdb, the stacks too. */
function threadsOf(pid: number): string {
  const lines: string[] = [];
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const at = `/proc/${pid}/task/${thread}`;
      const state = /^State:\s*(.*)$/m.exec(read(`${at}/status`))?.[1] ?? "?";
      lines.push(`thread ${thread} ${read(`${at}/comm`)}: ${state}, in ${read(`${at}/wchan`)}`);
    }
  } catch {
    return "its threads can't be read";
  }
  const stacks = ["-p", `${pid}`, "-batch", "-ex", "thread apply all bt 16"];
  const gdb = spawnSync("gdb", stacks, { encoding: "utf8", timeout: 60_000 });
  return [...lines, gdb.stdout ?? "no stacks: gdb is missing"].join("\n");
}

/**
 * Runs a program. If it has not ended in time, it is killed with all that descend from it: a child that lives on would
 * keep its stderr open.
 *
 * @param patienceMs how long it may take
 */
export function runToEnd(
  path: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  patienceMs: number,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, { env, stdio: ["ignore", "ignore", "pipe"] });
    let stderr = "";
    let hung = false;
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const patience = setTimeout(() => {
      hung = true;
      const seconds = patienceMs / 1000;
      const family = familyOf(child.pid ?? 0);
      const threads = family.map(threadsOf).join("\n");
      stderr += `HUNG: ${path} ${args.join(" ")} did not end within ${seconds} s.\n${threads}`;
      for (const pid of family) kill(pid);
    }, patienceMs);
    child.on("error", reject);
    child.on("close", (status, signal) => {
      clearTimeout(patience);
      resolve({ status, signal, stderr, hung });
    });
  });
}
