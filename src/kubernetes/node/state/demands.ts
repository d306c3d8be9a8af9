// Figures of pods go with the GPUNode, so they cost no writes of their own.
import type { BestEffortStatus, GpuStatus, HighStatus } from "#agent";
import type { DemandFigures, ObservedClient } from "../../labels/demand.ts";
import { SampleClock } from "./sample-clock.ts";

/** Before a minute nothing is said of a pod: it loads. */
const MIN_SECONDS = 60;
/** Kernels of less time say little. */
const MIN_RUN_SECONDS = 20;

interface PodRecord {
  seconds: number;
  memoryBytes: number;
  /** Time in which its work need not wait, and GPU time of kernels in it. */
  runSeconds: number;
  kernelSeconds: number;
  last:
    | { readonly pid: number; readonly seconds: number; readonly kernelSeconds: number }
    | undefined;
  soloBusy: number | undefined;
  request: Pick<DemandFigures, "unit" | "p50Us" | "perS">;
}

export class Demands {
  /** Keys are UUIDs of GPUs and UIDs of pods. */
  readonly #gpus = new Map<string, Map<string, PodRecord>>();
  readonly #clock = new SampleClock();

  /** `serviceOf`: UID of the pod that has a GPU. `now` in ms. */
  sample(
    claims: readonly { readonly gpu: string; readonly podUid: string }[],
    gpus: readonly GpuStatus[],
    serviceOf: (uuid: string) => string | undefined,
    now: number,
  ): void {
    const seconds = this.#clock.secondsUntil(now);
    for (const gpu of gpus) {
      const before = this.#gpus.get(gpu.uuid);
      const pods = new Map<string, PodRecord>();
      this.#gpus.set(gpu.uuid, pods);
      const service = serviceOf(gpu.uuid);
      const there = claims.flatMap(({ gpu: uuid, podUid }) => (uuid === gpu.uuid ? [podUid] : []));
      for (const pod of service === undefined ? there : [service, ...there]) {
        const known = before?.get(pod) ?? unknown();
        pods.set(pod, known);
        const all = pod === service ? gpu.high : gpu.bestEffort;
        const own = all.filter(({ identity }) => identity?.pod === pod);
        if (own.length === 0) continue;
        known.seconds += seconds;
        const bytes = own.reduce((sum, { gpuMemory = 0 }) => sum + gpuMemory, 0);
        known.memoryBytes = Math.max(known.memoryBytes, bytes);
      }
      for (const client of gpu.bestEffort) work(pods.get(client.identity?.pod ?? ""), client);
      const [first] = gpu.high.filter(({ identity }) => identity?.pod === service);
      if (first) serve(pods.get(service ?? ""), first, gpu.bestEffort.length === 0);
    }
  }

  of(uuid: string): readonly ObservedClient[] {
    return [...(this.#gpus.get(uuid) ?? [])].flatMap(([podUid, known]) =>
      known.seconds < MIN_SECONDS ? [] : [{ podUid, ...figuresOf(known) }],
    );
  }
}

const unknown = (): PodRecord => ({
  ...{ seconds: 0, memoryBytes: 0, runSeconds: 0, kernelSeconds: 0 },
  ...{ last: undefined, soloBusy: undefined, request: {} },
});

/** Beside others, durations of kernels are longer, so the demand is too large rather than small. */
function work(
  known: PodRecord | undefined,
  { pid, work: measured, keptShare }: BestEffortStatus,
): void {
  if (known === undefined || measured === undefined) return;
  const { solo, shared, soloBusy } = measured;
  known.soloBusy = soloBusy ?? known.soloBusy;
  const now = {
    pid,
    seconds: solo.seconds + shared.seconds,
    kernelSeconds: solo.kernelSeconds + shared.kernelSeconds,
  };
  const { last } = known;
  known.last = now;
  // Counters of an agent that was restarted begin again.
  if (last?.pid !== pid || keptShare === undefined || now.seconds < last.seconds) return;
  known.runSeconds += keptShare * (now.seconds - last.seconds);
  known.kernelSeconds += Math.max(0, now.kernelSeconds - last.kernelSeconds);
}

function serve(known: PodRecord | undefined, client: HighStatus, isAlone: boolean): void {
  const { latencies, steps, burstP50Us, burstsPerS, starting } = client;
  if (known === undefined || starting) return;
  if (latencies)
    known.request = {
      ...{ unit: latencies.unit, perS: latencies.perS, p50Us: latencies.solo.p50Us },
    };
  else if (isAlone && steps)
    known.request = { unit: "step", perS: steps.stepsPerS, p50Us: steps.stepP50Us };
  else if (isAlone && burstP50Us !== undefined)
    known.request = { unit: "burst", perS: burstsPerS, p50Us: burstP50Us };
}

function figuresOf({ seconds, memoryBytes, request, ...known }: PodRecord): DemandFigures {
  const { unit, p50Us, perS } = request;
  const busy =
    known.soloBusy ??
    (known.runSeconds >= MIN_RUN_SECONDS ? known.kernelSeconds / known.runSeconds : undefined);
  return {
    ...{ seconds: Math.round(seconds), memoryBytes },
    ...(busy !== undefined && { busy: rounded(Math.min(1, busy)) }),
    ...(unit && p50Us !== undefined && perS !== undefined
      ? { unit, p50Us: rounded(p50Us), perS: rounded(perS) }
      : {}),
  };
}

const rounded = (n: number): number => Math.round(n * 1000) / 1000;
