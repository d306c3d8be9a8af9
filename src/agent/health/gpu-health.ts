import {
  type AllLimits,
  assessmentIn,
  follow,
  type Health,
  type HealthOptions,
  limitsFor,
  type Monitor,
  newMonitor,
  type ReadingName,
  readingNames,
  readings,
  type Step,
  type Tracks,
  watch,
  worstOf,
} from "#health";
import type { GpuUse } from "#policy";
import type { Vitals } from "../sensors/sensor.ts";
import { Faults } from "./faults.ts";
import { type HostPressure, hostPressure } from "./pressure.ts";
import { valuesOf } from "./values.ts";

/** A pause alone frees no memory: parking it would belong here as a third action. */
const actions: Readonly<Record<Health, { readonly admits: boolean; readonly holds: boolean }>> = {
  init: { admits: true, holds: false },
  healthy: { admits: true, holds: false },
  unhealthy: { admits: false, holds: false },
  overlimit: { admits: false, holds: true },
  disabled: { admits: false, holds: true },
};

export interface HealthStatus {
  readonly state: Health;
  readonly cause: string;
  readonly seconds: number;
  readonly atLeastSeconds: number | undefined;
  readonly entries: number; // counts the last two hours
  readonly divided: boolean | undefined;
  readonly readings: Partial<Readonly<Record<ReadingName, number>>>;
}

interface Transition extends Step {
  readonly gpu: string;
}

interface Found {
  readonly transitions: readonly Transition[];
  readonly xids: readonly { readonly gpu: string; readonly xid: number }[];
}

interface Kept {
  readonly monitor: Monitor;
  readonly tracks: Tracks<ReadingName>;
  readonly faults: Faults;
  readonly vitals: Vitals | undefined;
}

interface Surroundings {
  readonly options: HealthOptions;
  /** The times of a software GPU say nothing about the machine. */
  readonly software: boolean;
  readonly now: () => number; // ns, monotonic
  /** The slowdown factor of a GPU's slowest service minus 1; undefined while unknown. */
  readonly lateness: (uuid: string) => number | undefined;
  readonly pressure?: () => HostPressure;
  /** Why no program can use any GPU now. */
  readonly error?: () => string | undefined;
}

/** The kernel renews its averages every 2 s only (kernel/sched/psi.c, PSI_FREQ). */
const PRESSURE_EACH_S = 1;

export class GpuHealth {
  readonly #around: Surroundings;
  readonly #limits: AllLimits;
  readonly #gpus = new Map<string, Kept>();
  #host: { readonly at: number; readonly pressure: HostPressure } | undefined;

  constructor(around: Surroundings) {
    this.#around = around;
    this.#limits = limitsFor(around.software, around.options.limits);
  }

  /** A GPU that is not listed any more can't be judged: its readings are missing. */
  look(all: readonly Vitals[]): Found {
    const seconds = this.#around.now() / 1e9;
    const host = this.#pressureAt(seconds);
    const transitions: Transition[] = [];
    const xids: { gpu: string; xid: number }[] = [];
    for (const vitals of all) {
      const { uuid } = vitals;
      const was = this.#gpus.get(uuid) ?? {
        monitor: newMonitor(seconds),
        tracks: new Map(),
        faults: new Faults(),
        vitals: undefined,
      };
      xids.push(...was.faults.note(vitals, seconds).map((xid) => ({ gpu: uuid, xid })));
      const tracks = this.#follow(was, vitals, host, seconds);
      const unusable = vitals.unusable ?? this.#around.error?.();
      transitions.push(...this.#judge(uuid, { ...was, tracks, vitals }, unusable, seconds));
    }
    const listed = new Set(all.map(({ uuid }) => uuid));
    for (const [uuid, kept] of this.#gpus)
      if (!listed.has(uuid))
        transitions.push(...this.#judge(uuid, { ...kept, vitals: undefined }, undefined, seconds));
    return { transitions, xids };
  }

  #pressureAt(seconds: number): HostPressure {
    if (this.#host === undefined || seconds - this.#host.at >= PRESSURE_EACH_S) {
      const { pressure = hostPressure } = this.#around;
      this.#host = { at: seconds, pressure: pressure() };
    }
    return this.#host.pressure;
  }

  #follow({ tracks, faults }: Kept, vitals: Vitals, host: HostPressure, now: number) {
    const lateness = this.#around.lateness(vitals.uuid);
    const values = valuesOf(vitals, faults.counts, host, lateness);
    return new Map(
      readingNames.flatMap((name) => {
        const before =
          readings[name].lapses && values[name] === undefined ? undefined : tracks.get(name);
        const track = follow(before, now, values[name], this.#limits[name]);
        return track ? [[name, track] as const] : [];
      }),
    );
  }

  #judge(uuid: string, kept: Kept, unusable: string | undefined, now: number) {
    const why = unusable ?? kept.faults.fatal;
    const seen =
      why === undefined
        ? worstOf(
            [...kept.tracks].map(([name, track]) =>
              assessmentIn(track, now, this.#limits[name], readings[name]),
            ),
          )
        : { grade: "unavailable" as const, cause: why };
    const { monitor, steps } = watch(kept.monitor, now, seen, this.#around.options.backOff);
    this.#gpus.set(uuid, { ...kept, monitor });
    return steps.map((step) => ({ ...step, gpu: uuid }));
  }

  holds(uuid: string): boolean {
    const kept = this.#gpus.get(uuid);
    return kept !== undefined && actions[kept.monitor.health].holds;
  }

  refusal(uuid: string): string | undefined {
    const monitor = this.#gpus.get(uuid)?.monitor;
    if (!monitor || actions[monitor.health].admits) return undefined;
    // The cause comes last, because the client truncates this sentence.
    return `No new best-effort client may come to ${uuid} until it is healthy. It is ${monitor.health}: ${monitor.cause}.`;
  }

  use(uuid: string): GpuUse | undefined {
    const { smActivity, smClockMHz, mostSmClockMHz } = this.#gpus.get(uuid)?.vitals ?? {};
    return smActivity === undefined || smClockMHz === undefined || !mostSmClockMHz
      ? undefined
      : { smActivity, smClockMHz, mostSmClockMHz };
  }

  status(uuid: string): HealthStatus | undefined {
    const kept = this.#gpus.get(uuid);
    if (!kept) return undefined;
    const { health, cause, since, until, entries } = kept.monitor;
    const now = this.#around.now() / 1e9;
    return {
      state: health,
      cause,
      seconds: now - since,
      atLeastSeconds: health === "overlimit" ? Math.max(0, until - now) : undefined,
      entries: entries.length,
      divided: kept.vitals?.divided,
      readings: Object.fromEntries([...kept.tracks].map(([name, { value }]) => [name, value])),
    };
  }
}
