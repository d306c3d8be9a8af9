// Counts of the API server and the kernel: writes, and resources of processes.
import { readFileSync } from "node:fs";
import type { Cluster } from "../../test/kubernetes/cluster.ts";

const TICKS_PER_SECOND = 100;

/** Writes until now, by resource, subresource and verb, such as `pods status PATCH`. */
export async function writesOf(cluster: Cluster): Promise<ReadonlyMap<string, number>> {
  const text = await cluster.ask(["get", "--raw=/metrics"]);
  const counts = new Map<string, number>();
  for (const [, labels = "", n = ""] of text.matchAll(
    /^apiserver_request_total\{(.*?)\} (\S+)$/gm,
  )) {
    const of = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
    if (!["POST", "PUT", "PATCH", "DELETE", "APPLY"].includes(of("verb"))) continue;
    const what = [of("resource"), of("subresource"), of("verb")].filter(Boolean).join(" ");
    counts.set(what, (counts.get(what) ?? 0) + Number(n));
  }
  return counts;
}

/** Seconds of CPU that a process has taken, of itself and in the kernel. */
export function cpuSecondsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // Behind the name in brackets: state is field 3, utime 14, stime 15.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Memory of a process, its own and shared: now, or the most there was. */
export function residentMegabytes(pid: number, which: "now" | "most" = "now"): number {
  const name = which === "now" ? "VmRSS" : "VmHWM";
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const [, kibibytes] = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status) ?? [];
  return Math.round((Number(kibibytes) * 1024) / 1e6);
}
