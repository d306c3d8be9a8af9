import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { CpuNoise } from "./noise.ts";

const LOOK_BEFORE_MS = 500;

interface Counts {
  readonly all: number;
  readonly idle: number;
  readonly steal: number;
  readonly waitedUs: number | undefined;
  readonly atUs: number;
}

export async function watchCpu(
  read: (path: string) => string | undefined = readProc,
): Promise<() => CpuNoise> {
  const first = countsOf(read);
  await pause(LOOK_BEFORE_MS);
  const from = countsOf(read);
  const busyBefore =
    first && from && share(from.all - from.idle - (first.all - first.idle), from.all - first.all);
  return () => {
    const to = countsOf(read);
    return {
      busyBefore,
      stealShare: from && to && share(to.steal - from.steal, to.all - from.all),
      waitShare:
        from?.waitedUs !== undefined && to?.waitedUs !== undefined
          ? share(to.waitedUs - from.waitedUs, to.atUs - from.atUs)
          : undefined,
    };
  };
}

const share = (part: number, whole: number) => (whole > 0 ? part / whole : undefined);

// /proc/stat: user nice system idle iowait irq softirq steal; the rest is counted in user already.
function countsOf(read: (path: string) => string | undefined): Counts | undefined {
  const ticks = /^cpu +(.*)$/m
    .exec(read("/proc/stat") ?? "")?.[1]
    ?.split(" ")
    .map(Number);
  if (!ticks || ticks.length < 8) return undefined;
  const waited = /^some .*total=(\d+)/m.exec(read("/proc/pressure/cpu") ?? "")?.[1];
  return {
    all: ticks.slice(0, 8).reduce((sum, one) => sum + one, 0),
    idle: (ticks[3] ?? 0) + (ticks[4] ?? 0),
    steal: ticks[7] ?? 0,
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
