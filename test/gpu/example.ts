// Synthetic jobs for tests of the modelled GPU.

import { type GpuModel, modelOf, type Plan, planOf } from "#gpu";
import { gpuNamed, type KernelProfile, type Step, type WorkloadProfile } from "#profile";

export interface KernelShape {
  readonly us: number;
  readonly sms?: number;
  /** Blocks on an SM at once; default one. */
  readonly perSm?: number;
  readonly sm?: number;
  readonly memory?: number;
  readonly class?: KernelProfile["class"];
  readonly gapUs?: number;
}

/** An H200 whose clock stands still. */
export const h200 = (): GpuModel => {
  const { power: _, ...fixed } = modelOf("H200");
  return fixed;
};

export function workload(
  name: string,
  shapes: readonly KernelShape[],
  more: Partial<WorkloadProfile> = {},
): WorkloadProfile {
  const gpu = gpuNamed("H200");
  if (!gpu) throw new Error("no H200");
  return {
    version: 1,
    name,
    kind: "training",
    gpu: { name: "H200", computeCapability: gpu.computeCapability, sms: gpu.sms },
    source: "synthetic",
    soloNs: undefined,
    kernels: shapes.map(kernel),
    sequence: shapes.map(
      ({ gapUs }, i): Step => ({
        kernel: i,
        ...(gapUs === undefined ? {} : { gapNs: gapUs * 1000 }),
      }),
    ),
    ...more,
  };
}

const kernel = ({
  us,
  sms = 132,
  perSm = 1,
  sm = 0.3,
  memory = 0.1,
  ...more
}: KernelShape): KernelProfile => ({
  name: `${us} us on ${sms} SMs`,
  grid: [sms * perSm, 1, 1],
  block: [1024 / perSm, 1, 1],
  dynamicSharedBytes: Math.floor(200 / perSm) * 1024,
  durationNs: { p50: us * 1000, p95: us * 1000 },
  smsNeeded: sms,
  sm,
  memory,
  class: more.class ?? "unknown",
});

export const plan = (shapes: readonly KernelShape[]): Plan =>
  planOf(
    workload(
      "synthetic",
      shapes.map((shape) => ({ gapUs: 0, ...shape })),
    ),
    h200(),
    "kernels",
  );

interface Queue {
  readonly plan: { readonly length: number };
  push(step: number, at: number): void;
}

/** Puts the whole plan into the stream. */
export function submit<Stream extends Queue>(
  stream: Stream,
  machine: { readonly now: number; kick(stream: Stream): void },
  times = 1,
): void {
  for (let i = 0; i < times; i++)
    for (let step = 0; step < stream.plan.length; step++) stream.push(step, machine.now);
  machine.kick(stream);
}

/** Owns a stream and does nothing. */
export const quiet = {
  onBorder() {},
  mayPass: () => true,
  onEnd() {},
  refill() {},
  onKernel() {},
};
