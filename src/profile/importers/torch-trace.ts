// Times are in microseconds with fractions, on one clock for CPU and GPU.

import { type Field, readJson } from "#core";
import { badProfile } from "../model/errors.ts";
import { type CopyDirection, type Dim3, type Mark, marks } from "../model/types.ts";
import type { SaidOfGpu } from "./about.ts";
import type { Launch } from "./distinct.ts";

export interface Span {
  readonly begin: number;
  readonly end: number;
}

export type Work = LaunchCall & { readonly does: Launch | Copy };

interface Copy {
  readonly copy: CopyDirection;
  readonly bytes: number;
}

interface LaunchCall {
  /** When the work was asked for; when it began on the GPU, if the trace lacks the call. */
  readonly at: number;
  /** Kernels of a CUDA graph share one call. */
  readonly call: Span | undefined;
}

export interface Trace {
  readonly gpu: SaidOfGpu;
  readonly iterations: readonly Span[];
  readonly work: readonly Work[];
  readonly waits: readonly Span[];
  readonly marks: readonly { readonly at: number; readonly mark: Mark }[];
}

export function readTrace(text: string, file: string): Trace {
  const whole = readJson(text, file, badProfile);
  const listed = Array.isArray(whole.value) ? whole : whole.at("traceEvents");
  if (listed.missing)
    throw badProfile(file, "", "it is no trace of the PyTorch profiler: it has no traceEvents.");
  const events = listed.list().flatMap(readEvent);
  const device = busiest(events);
  const calls = callsOf(events);
  const annotations = events.filter(({ category }) => category === "user_annotation");
  const work = events
    .filter((event) => event.onGpu && event.device === device)
    .map((event) => {
      const call = calls.get(event.correlation ?? -1);
      const ran = event.span.begin;
      return { does: doneBy(event), call, at: call?.begin ?? ran, ran };
    });
  return {
    gpu: Array.isArray(whole.value) ? {} : gpuSaid(whole.at("deviceProperties"), device),
    iterations: annotations
      .filter(({ name }) => /^ProfilerStep#?\s*\d+/.test(name))
      .map(({ span }) => span)
      .sort((a, b) => a.begin - b.begin),
    work: work.sort((a, b) => a.at - b.at || a.ran - b.ran),
    waits: events.filter(mayWait).map(({ span }) => span),
    marks: annotations
      .flatMap(({ name, span }) => markOf(name).map((mark) => ({ at: span.begin, mark })))
      .sort((a, b) => a.at - b.at),
  };
}

interface Event {
  readonly field: Field;
  readonly category: string;
  readonly name: string;
  readonly span: Span;
  readonly correlation: number | undefined;
  readonly device: number | undefined;
  readonly onGpu: boolean;
}

const oldCategories: Readonly<Record<string, string>> = {
  Kernel: "kernel",
  Memcpy: "gpu_memcpy",
  Memset: "gpu_memset",
  Runtime: "cuda_runtime",
};

const gpuCategories = ["kernel", "gpu_memcpy", "gpu_memset"];
const callCategories = ["cuda_runtime", "cuda_driver"];
const used = [...gpuCategories, ...callCategories, "user_annotation"];

function readEvent(field: Field): Event[] {
  const { cat, ph, args } = field.object();
  if (ph !== "X" || typeof cat !== "string") return [];
  const category = oldCategories[cat] ?? cat;
  if (!used.includes(category)) return [];
  const begin = field.at("ts").number();
  const said = args === undefined ? undefined : field.at("args");
  const known = (name: string) => {
    const value = said?.object()[name];
    return typeof value === "number" ? value : undefined;
  };
  return [
    {
      field,
      category,
      name: field.at("name").text(),
      span: { begin, end: begin + field.at("dur").number() },
      correlation: known("correlation"),
      device: known("device"),
      onGpu: gpuCategories.includes(category),
    },
  ];
}

/** A job that uses one GPU may have a few copies on others. */
function busiest(events: readonly Event[]): number | undefined {
  const counts = new Map<number | undefined, number>();
  for (const { onGpu, device } of events)
    if (onGpu) counts.set(device, (counts.get(device) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}

/** If the runtime calls the driver, the outer call is taken. */
function callsOf(events: readonly Event[]): ReadonlyMap<number, Span> {
  const calls = new Map<number, Span>();
  for (const { category, correlation, span } of events) {
    if (!callCategories.includes(category) || correlation === undefined) continue;
    const other = calls.get(correlation);
    if (!other || span.begin < other.begin) calls.set(correlation, span);
  }
  return calls;
}

const mayWait = ({ category, name }: Event): boolean =>
  callCategories.includes(category) && /Synchronize|Memcpy/.test(name);

const markOf = (name: string): readonly Mark[] => {
  if (/zero_grad/.test(name)) return [];
  const [, word = ""] = /^\W*(forward|backward|optimizer)\b/i.exec(name) ?? [];
  return marks.filter((mark) => mark === word.toLowerCase());
};

function doneBy(event: Event): Launch | Copy {
  const args = event.field.at("args");
  if (event.category === "gpu_memcpy") {
    const copy = /HtoD/.test(event.name) ? "in" : /DtoH/.test(event.name) ? "out" : undefined;
    if (copy) return { copy, bytes: args.at("bytes").whole(0) };
  }
  const durationNs = Math.round((event.span.end - event.span.begin) * 1000);
  if (event.category !== "kernel") return moves(event.name, durationNs);
  const registers = args.at("registers per thread");
  const shared = args.at("shared memory");
  return {
    identity: {
      name: event.name,
      grid: shape(args.at("grid")),
      block: shape(args.at("block")),
      ...(!registers.missing && { registers: registers.whole(0) }),
      ...(!shared.missing && { dynamicSharedBytes: shared.whole(0) }),
    },
    durationNs,
    used: {},
  };
}

/** A copy or fill within the GPU uses time and memory as a small kernel does. */
const moves = (name: string, durationNs: number): Launch => ({
  identity: { name, grid: [1, 1, 1], block: [1, 1, 1] },
  durationNs,
  used: {},
  class: "memory",
});

function shape(field: Field): Dim3 {
  const [x, y, z] = field.list();
  if (!x || !y || !z) throw field.bad("is not three sizes.");
  return [x.whole(1), y.whole(1), z.whole(1)];
}

function gpuSaid(devices: Field, device: number | undefined): SaidOfGpu {
  if (devices.missing) return {};
  const said = devices.list().find((one) => one.at("id").value === (device ?? 0));
  if (!said || said.at("computeMajor").missing) return {};
  const [major, minor] = [said.at("computeMajor").whole(1), said.at("computeMinor").whole(0)];
  return {
    name: said.at("name").text(),
    computeCapability: `${major}.${minor}`,
    sms: said.at("numSms").whole(1),
  };
}
