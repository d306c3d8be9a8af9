// Everything is checked on reading: an unknown field is probably misspelt.
import { type Field, readJson } from "#core";
import { badProfile } from "./errors.ts";
import { present, readDim3, readQuantiles } from "./kernel-fields.ts";
import {
  copyDirections,
  type KernelProfile,
  kernelClasses,
  marks,
  type Step,
  type SystemMetrics,
  type WorkloadProfile,
  workloadKinds,
} from "./types.ts";

const VERSION = 1;

export function formatProfile(profile: WorkloadProfile): string {
  const { kernels, sequence, version, ...rest } = profile;
  const lines = Object.entries({ version, ...rest })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},\n`);
  const list = (name: string, items: readonly unknown[]) =>
    `  "${name}": [${items.map((item) => `\n    ${JSON.stringify(item)}`).join(",")}\n  ]`;
  return `{\n${lines.join("")}${list("kernels", kernels)},\n${list("sequence", sequence)}\n}\n`;
}

export function parseProfile(text: string, file: string): WorkloadProfile {
  const whole = readJson(text, file, badProfile);
  const version = whole.at("version");
  if (version.missing || whole.at("kernels").missing)
    throw badProfile(file, "", "it is no workload profile: it has no version and kernels.");
  if (version.value !== VERSION)
    throw version.bad(`is ${version.brief}; this Cotenant reads ${VERSION}.`);
  return readProfile(whole.only(profileFields));
}

const systemFields = {
  memoryBytes: (field) => field.number(),
  smBusy: (field) => field.ratio(),
  memoryBusy: (field) => field.ratio(),
  smActivity: (field) => field.ratio(),
  smOccupancy: (field) => field.ratio(),
  dramActivity: (field) => field.ratio(),
  powerW: (field) => field.number(),
  smClockMHz: (field) => field.number(),
} satisfies Record<keyof SystemMetrics, (field: Field) => number>;

const profileFields = [
  "version",
  "name",
  "kind",
  "gpu",
  "source",
  "soloNs",
  "kernels",
  "sequence",
  ...Object.keys(systemFields),
];

function readProfile(whole: Field): WorkloadProfile {
  const gpu = whole.at("gpu").only(["name", "computeCapability", "sms"]);
  const kernels = whole.at("kernels").list().map(readKernel);
  return {
    version: VERSION,
    name: whole.at("name").text(),
    kind: whole.at("kind").one(workloadKinds),
    gpu: {
      name: gpu.at("name").text(),
      computeCapability: gpu.at("computeCapability").text(),
      sms: gpu.at("sms").whole(1),
    },
    source: whole.at("source").text(),
    soloNs: whole.at("soloNs").optional((one) => one.number()),
    ...present(whole, systemFields),
    kernels,
    sequence: whole
      .at("sequence")
      .list()
      .map((step) => readStep(step, kernels.length)),
  };
}

const optionalKernelFields = {
  registers: (field) => field.whole(0),
  staticSharedBytes: (field) => field.whole(0),
  dynamicSharedBytes: (field) => field.whole(0),
  sm: (field) => field.ratio(),
  memory: (field) => field.ratio(),
  dram: (field) => field.ratio(),
  l2Hit: (field) => field.ratio(),
} satisfies Record<string, (field: Field) => number>;

const kernelFields = [
  "name",
  "grid",
  "block",
  "durationNs",
  "smsNeeded",
  "class",
  ...Object.keys(optionalKernelFields),
];

function readKernel(kernel: Field): KernelProfile {
  kernel.only(kernelFields);
  return {
    name: kernel.at("name").text(),
    grid: readDim3(kernel.at("grid")),
    block: readDim3(kernel.at("block")),
    durationNs: readQuantiles(kernel.at("durationNs").only(["p50", "p95"])),
    smsNeeded: kernel.at("smsNeeded").whole(1),
    ...present(kernel, optionalKernelFields),
    class: kernel.at("class").one(kernelClasses),
  };
}

function readStep(step: Field, kernels: number): Step {
  if (!step.at("kernel").missing) {
    step.only(["kernel", "gapNs"]);
    const kernel = step.at("kernel").whole(0);
    if (kernel >= kernels)
      throw step.at("kernel").bad(`is ${kernel}, but there are only ${kernels} kernels.`);
    const gapNs = step.at("gapNs");
    return gapNs.missing ? { kernel } : { kernel, gapNs: gapNs.number() };
  }
  if (!step.at("copy").missing) {
    step.only(["copy", "bytes"]);
    return { copy: step.at("copy").one(copyDirections), bytes: step.at("bytes").whole(0) };
  }
  if (step.at("mark").missing) throw step.bad("is no kernel, copy or mark.");
  return { mark: step.only(["mark"]).at("mark").one(marks) };
}
