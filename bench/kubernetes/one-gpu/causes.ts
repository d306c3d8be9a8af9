// Why a step of one-gpu.ts failed: the last lines of the logs that tell it. Logs are kept beside the results, because the
// folder of a cluster that could not start is removed.
import { linkSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { packageRoot } from "#core";
import type { Fleet } from "../../../test/kubernetes/machines/fleet.ts";

const COTENANT = join(packageRoot(), "bin/cotenant");
const EACH_MS = 500;
const LINES = 12;
/** Programs write this at each error, and so do pods of programs of their own. */
const ERRORS = /^E\d{4} |level=(error|fatal)|Error|error:|panic|FATAL|stderr F/;

const folderOf = (out: string): string => join(out, "logs");

/** Links the logs of all clusters of this process from now on. Returns what ends it. They are on the file system of `out`. */
export function keepLogs(out: string): () => void {
  const folder = folderOf(out);
  mkdirSync(folder, { recursive: true });
  const keep = () => {
    for (const cluster of readdirSync(tmpdir()))
      if (cluster.startsWith("cotenant-kubernetes-"))
        for (const path of logsIn(join(tmpdir(), cluster), 7)) link(path, folder);
  };
  const timer = setInterval(keep, EACH_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function link(path: string, folder: string): void {
  // Logs of containers have the names of numbers, in a folder of their pod.
  const name = /\/pods\//.test(path)
    ? `pod-${path.replace(/^.*\/pods\//, "").replaceAll("/", "-")}`
    : basename(path);
  try {
    linkSync(path, join(folder, name));
  } catch {
    // it is kept already, or has gone
  }
}

function logsIn(folder: string, depth: number): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory())
        return depth > 0 && !/^(etcd|opt|work|image|containerd|plugins)$/.test(entry.name)
          ? logsIn(path, depth - 1)
          : [];
      return entry.isFile() && entry.name.endsWith(".log") ? [path] : [];
    });
  } catch {
    return []; // it has gone
  }
}

/** The text that says why: what the cluster answers of pods and events, and the last errors of each log. */
export async function causes(out: string, fleet: Fleet | undefined): Promise<string> {
  const parts: string[] = [];
  const ask = async (...args: readonly string[]) => {
    const output = await fleet?.cluster.kubectl([...args, "--request-timeout=5s"]);
    if (output !== undefined)
      parts.push(`--- kubectl ${args.join(" ")}`, lastOf(output.stdout + output.stderr, 2 * LINES));
  };
  await ask("get", "pods", "--all-namespaces", "-o", "wide");
  await ask("get", "events", "--all-namespaces", "--sort-by=.lastTimestamp");
  for (const { machine } of fleet?.nodes ?? []) {
    try {
      parts.push("--- cotenant status", machine.run(process.execPath, [COTENANT, "status"]));
    } catch (error) {
      parts.push((error as Error).message);
    }
  }
  for (const name of readdirSync(folderOf(out))) {
    const text = readFileSync(join(folderOf(out), name), "utf8");
    const errors = text.split("\n").filter((line) => ERRORS.test(line));
    const isPod = name.startsWith("pod-");
    const shown = lastOf(isPod || errors.length === 0 ? text : errors.join("\n"), LINES);
    if (shown.trim() !== "") parts.push(`--- ${name}`, shown);
  }
  return parts.join("\n");
}

const lastOf = (text: string, lines: number): string =>
  text
    .trimEnd()
    .split("\n")
    .slice(-lines)
    .map((line) => line.slice(0, 400))
    .join("\n");
