// Profiles for tests: a small one, and any.
import fc from "fast-check";
import {
  copyDirections,
  kernelClasses,
  marks,
  type WorkloadProfile,
  workloadKinds,
} from "#profile";

export const example: WorkloadProfile = {
  version: 1,
  name: "bert",
  kind: "inference",
  gpu: { name: "NVIDIA H200", computeCapability: "9.0", sms: 132 },
  source: "bench/results/bert.json",
  soloNs: 3_300_000,
  memoryBytes: 2_000_000_000,
  smBusy: 0.4,
  memoryBusy: 0.2,
  smActivity: 0.35,
  smOccupancy: 0.1,
  kernels: [
    {
      name: "gemm",
      grid: [128, 1, 1],
      block: [384, 1, 1],
      registers: 168,
      staticSharedBytes: 1024,
      dynamicSharedBytes: 230_400,
      durationNs: { p50: 9000, p95: 12_000 },
      smsNeeded: 128,
      sm: 0.8,
      memory: 0.5,
      dram: 0.3,
      l2Hit: 0.7,
      class: "compute",
    },
    {
      name: "layer_norm",
      grid: [512, 1, 1],
      block: [256, 1, 1],
      registers: 32,
      staticSharedBytes: 0,
      durationNs: { p50: 3000, p95: 3500 },
      smsNeeded: 64,
      sm: 0.2,
      memory: 0.9,
      dram: 0.7,
      class: "memory",
    },
  ],
  sequence: [
    { mark: "forward" },
    { copy: "in", bytes: 4096 },
    { kernel: 0, gapNs: 4000 },
    { kernel: 1 },
    { kernel: 1 },
    { copy: "out", bytes: 8 },
  ],
};

const ratio = fc.double({ min: 0, max: 1, noNaN: true });
const amount = fc.double({ min: 0, max: 1e12, noNaN: true });
const dim3 = fc.tuple(...([1, 2, 3].map(() => fc.integer({ min: 1, max: 65_535 })) as Three));
type Three = [fc.Arbitrary<number>, fc.Arbitrary<number>, fc.Arbitrary<number>];
const text = fc.string({ unit: "grapheme", minLength: 1 });

const anyKernel = fc.record(
  {
    name: text,
    grid: dim3,
    block: dim3,
    registers: fc.nat(255),
    staticSharedBytes: fc.nat(),
    dynamicSharedBytes: fc.nat(),
    durationNs: fc.tuple(amount, amount).map(([p50, more]) => ({ p50, p95: p50 + more })),
    smsNeeded: fc.integer({ min: 1 }),
    sm: ratio,
    memory: ratio,
    dram: ratio,
    l2Hit: ratio,
    class: fc.constantFrom(...kernelClasses),
  },
  { requiredKeys: ["name", "grid", "block", "durationNs", "smsNeeded", "class"] },
);

export const anyProfile: fc.Arbitrary<WorkloadProfile> = fc
  .array(anyKernel, { minLength: 1, maxLength: 4 })
  .chain((kernels) => {
    const kernel = fc.nat(kernels.length - 1);
    const step = fc.oneof(
      fc.record({ kernel, gapNs: fc.nat() }, { requiredKeys: ["kernel"] }),
      fc.record({ copy: fc.constantFrom(...copyDirections), bytes: fc.nat() }),
      fc.record({ mark: fc.constantFrom(...marks) }),
    );
    return fc.record(
      {
        version: fc.constant(1 as const),
        name: text,
        kind: fc.constantFrom(...workloadKinds),
        gpu: fc.record({
          name: text,
          computeCapability: fc.constantFrom("7.0", "9.0"),
          sms: fc.integer({ min: 1, max: 200 }),
        }),
        source: text,
        soloNs: fc.option(amount, { nil: undefined }),
        memoryBytes: amount,
        smBusy: ratio,
        dramActivity: ratio,
        powerW: amount,
        kernels: fc.constant(kernels),
        sequence: fc.array(step, { maxLength: 8 }),
      },
      {
        requiredKeys: ["version", "name", "kind", "gpu", "source", "soloNs", "kernels", "sequence"],
      },
    );
  });
