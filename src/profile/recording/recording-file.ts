// native/interposer/record/file.cpp writes it.

import { type Field, readJson } from "#core";
import type { SaidOfGpu } from "../importers/about.ts";
import { badProfile } from "../model/errors.ts";
import { present, readDim3, readQuantiles } from "../model/kernel-fields.ts";
import { type CopyDirection, copyDirections, type KernelProfile } from "../model/types.ts";

const VERSION = 1;

export type RecordedKernel = Pick<
  KernelProfile,
  "name" | "grid" | "block" | "registers" | "staticSharedBytes" | "dynamicSharedBytes"
> & {
  readonly blocksPerSm?: number;
  readonly launches: number;
  readonly samples: number;
  readonly durationNs?: KernelProfile["durationNs"];
};

export type Item =
  | { readonly kernel: number }
  | { readonly copy: CopyDirection; readonly bytes: number };

export interface RecordedGraph {
  readonly launches: number;
  readonly durationNs?: KernelProfile["durationNs"];
  readonly steps?: readonly Item[];
}

export interface Happened {
  readonly does: Item | { readonly graph: number } | { readonly waitNs: number };
  /** It is in ns since the first step. */
  readonly atNs: number;
  /** It is CPU time since the previous step returned. */
  readonly gapNs: number;
}

export interface Recording {
  readonly gpu: SaidOfGpu;
  readonly beganNs: number | undefined;
  readonly kernels: readonly RecordedKernel[];
  readonly graphs: readonly RecordedGraph[];
  readonly steps: readonly Happened[];
}

export function readRecording(text: string, file: string): Recording {
  const whole = readJson(text, file, badProfile);
  if (whole.at("kind").value !== "recording")
    throw badProfile(file, "", "it is no recording of the interposer.");
  const version = whole.at("version");
  if (version.value !== VERSION)
    throw version.bad(
      `is ${version.missing ? "missing" : version.brief}; this Cotenant reads ${VERSION}.`,
    );
  whole.only(wholeFields);
  if (whole.at("severalGpus").value === true)
    throw badProfile(
      file,
      "severalGpus",
      "the program used more than one GPU; a profile is of one.",
    );
  const kernels = whole.at("kernels").list().map(readKernel);
  const graphs = whole
    .at("graphs")
    .list()
    .map((graph) => readGraph(graph, kernels.length));
  const steps = whole
    .at("steps")
    .list()
    .map((step) => readStep(step, kernels.length, graphs.length));
  const beganNs = whole.at("beganNs").optional((one) => one.number());
  return { gpu: readGpu(whole.at("gpu")), beganNs, kernels, graphs, steps };
}

const wholeFields = [
  "version",
  "kind",
  "program",
  "gpu",
  "severalGpus",
  "beganNs",
  "stepsSeen",
  "launchesLost",
  "kernels",
  "graphs",
  "steps",
];

function readGpu(gpu: Field): SaidOfGpu {
  gpu.only(["name", "computeCapability", "sms"]);
  if (gpu.at("name").missing) return {};
  return {
    name: gpu.at("name").text(),
    computeCapability: gpu.at("computeCapability").text(),
    sms: gpu.at("sms").whole(1),
  };
}

const timedFields = ["launches", "samples", "timed", "durationNs"];

const resourceFields = {
  registers: (field: Field) => field.whole(0),
  staticSharedBytes: (field: Field) => field.whole(0),
  dynamicSharedBytes: (field: Field) => field.whole(0),
  blocksPerSm: (field: Field) => field.whole(1),
};

function readKernel(kernel: Field): RecordedKernel {
  kernel.only(["name", "grid", "block", ...Object.keys(resourceFields), ...timedFields]);
  return {
    name: kernel.at("name").text(),
    grid: readDim3(kernel.at("grid")),
    block: readDim3(kernel.at("block")),
    ...present(kernel, resourceFields),
    launches: kernel.at("launches").whole(0),
    samples: kernel.at("samples").whole(0),
    ...readDuration(kernel),
  };
}

function readGraph(graph: Field, kernels: number): RecordedGraph {
  graph.only(["steps", ...timedFields]);
  const steps = graph.at("steps");
  const inside = steps.missing ? {} : { steps: steps.list().map((one) => readItem(one, kernels)) };
  return { launches: graph.at("launches").whole(0), ...inside, ...readDuration(graph) };
}

function readStep(step: Field, kernels: number, graphs: number): Happened {
  step.only(["kernel", "graph", "copy", "bytes", "waitNs", "atNs", "gapNs"]);
  const times = { atNs: step.at("atNs").number(), gapNs: step.at("gapNs").number() };
  if (!step.at("waitNs").missing) return { does: { waitNs: step.at("waitNs").number() }, ...times };
  if (!step.at("graph").missing)
    return { does: { graph: index(step.at("graph"), graphs, "graphs") }, ...times };
  return { does: readItem(step, kernels), ...times };
}

function readItem(item: Field, kernels: number): Item {
  if (!item.at("kernel").missing) return { kernel: index(item.at("kernel"), kernels, "kernels") };
  if (item.at("copy").missing) throw item.bad("is no kernel, graph, copy or wait.");
  return { copy: item.at("copy").one(copyDirections), bytes: item.at("bytes").whole(0) };
}

function index(field: Field, count: number, of: string): number {
  const value = field.whole(0);
  if (value < count) return value;
  throw field.bad(`is ${value}, but there are only ${count} ${of}.`);
}

function readDuration(timed: Field): { readonly durationNs?: KernelProfile["durationNs"] } {
  const duration = timed.at("durationNs");
  return duration.missing ? {} : { durationNs: readQuantiles(duration) };
}
