// What else the machine's CPUs do during a measurement, by the kernel's own counts.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { CpuNoise } from "./noise.ts";

interface Counts {
  /** Of all CPUs, in ticks. */
  readonly steal: number;
  readonly all: number;
  /** Time in which some task waited for a CPU, in us. */
  readonly waitedUs: number | undefined;
  readonly atUs: number;
}

/** Begin it before anything is started: later the load is the measurement's own. */
export function watchCpu(read: (path: string) => string | undefined = readProc): () => CpuNoise {
  const loadBefore = loadOf(read("/proc/loadavg"));
  const from = countsOf(read);
  return () => {
    const to = countsOf(read);
    const share = (part: number, whole: number) => (whole > 0 ? part / whole : undefined);
    return {
      loadBefore,
      stealShare: from && to && share(to.steal - from.steal, to.all - from.all),
      waitShare:
        from?.waitedUs !== undefined && to?.waitedUs !== undefined
          ? share(to.waitedUs - from.waitedUs, to.atUs - from.atUs)
          : undefined,
    };
  };
}

function loadOf(loadavg: string | undefined): number | undefined {
  const load = Number.parseFloat(loadavg ?? "");
  return Number.isNaN(load) ? undefined : load / availableParallelism();
}

/** The first line of /proc/stat: user nice system idle iowait irq softirq steal, then what is counted in user already. */
function countsOf(read: (path: string) => string | undefined): Counts | undefined {
  const ticks = /^cpu +(.*)$/m
    .exec(read("/proc/stat") ?? "")?.[1]
    ?.split(" ")
    .map(Number);
  if (!ticks || ticks.length < 8) return undefined;
  const waited = /^some .*total=(\d+)/m.exec(read("/proc/pressure/cpu") ?? "")?.[1];
  return {
    steal: ticks[7] ?? 0,
    all: ticks.slice(0, 8).reduce((sum, one) => sum + one, 0),
    waitedUs: waited === undefined ? undefined : Number(waited),
    atUs: Number(process.hrtime.bigint()) / 1e3,
  };
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
