// The software GPU has memory and utilisation only; not every GPU has GPM's counters.
import { UserError } from "#core";
import type { SystemMetrics, SystemWatch } from "#profile";
import { type Gpm, openGpm, openNvml } from "./nvidia/index.ts";
import type { Sensor } from "./sensors/sensor.ts";
import { openSoftGpus, SOFT_GPU_NAME } from "./sensors/softgpu.ts";

const READ_EVERY_MS = 100;

interface Reading extends SystemMetrics {
  readonly atNs: number;
  readonly memoryUsed: number | undefined;
}

export function watchSystem(env: NodeJS.ProcessEnv): SystemWatch {
  const index = Number.parseInt(env.CUDA_VISIBLE_DEVICES ?? "0", 10) || 0;
  const opened = openSensor(env);
  const first = opened.sensor?.read()[index];
  const { gpm } = opened;
  const readings: Reading[] = [];
  let sample = gpm?.sample();
  const timer = setInterval(() => {
    const reading = opened.sensor?.read()[index];
    if (!reading) return;
    const later = gpm?.sample();
    const counted = gpm && sample && later ? gpm.between(sample, later) : {};
    sample = later;
    readings.push({
      atNs: Number(process.hrtime.bigint()),
      memoryUsed: reading.memoryUsed,
      ...given("smBusy", reading.utilisation),
      ...given("memoryBusy", reading.memoryUtilisation),
      ...given("powerW", reading.powerW),
      ...given("smClockMHz", reading.smClockMHz),
      ...Object.fromEntries(Object.entries(counted).filter(([, value]) => value !== undefined)),
    });
  }, READ_EVERY_MS);
  return {
    gpu: first?.name ?? (opened.soft ? SOFT_GPU_NAME : undefined),
    why: opened.why ?? `there is no GPU ${index}`,
    others: first?.processes.length ?? 0,
    stop: () => clearInterval(timer),
    between(fromNs, toNs) {
      const within = readings.filter(({ atNs }) => atNs >= fromNs && atNs <= toNs);
      const used = within.flatMap(({ memoryUsed }) => memoryUsed ?? []);
      const mean = (name: keyof SystemMetrics) => given(name, meanOf(within, name));
      return {
        ...(used.length > 0 && {
          memoryBytes: Math.max(0, Math.max(...used) - (first?.memoryUsed ?? 0)),
        }),
        ...mean("smBusy"),
        ...mean("memoryBusy"),
        ...mean("smActivity"),
        ...mean("smOccupancy"),
        ...mean("dramActivity"),
        ...mean("powerW"),
        ...mean("smClockMHz"),
      };
    },
  };
}

interface Opened {
  readonly sensor?: Sensor;
  readonly gpm?: Gpm;
  readonly soft: boolean;
  readonly why?: string;
}

function openSensor(env: NodeJS.ProcessEnv): Opened {
  const soft = env.COTENANT_SOFTGPU_DIR;
  const now = () => Number(process.hrtime.bigint());
  if (soft) return { sensor: openSoftGpus(soft, now), soft: true };
  try {
    const index = Number.parseInt(env.CUDA_VISIBLE_DEVICES ?? "0", 10) || 0;
    return { sensor: openNvml(), gpm: openGpm({ index }), soft: false };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { soft: false, why: error.message };
  }
}

const given = <Name extends keyof SystemMetrics>(name: Name, value: number | undefined) =>
  (value === undefined ? {} : { [name]: value }) as { readonly [K in Name]?: number };

function meanOf(readings: readonly Reading[], name: keyof SystemMetrics): number | undefined {
  const values = readings.flatMap((reading) => reading[name] ?? []);
  if (values.length === 0) return undefined;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
