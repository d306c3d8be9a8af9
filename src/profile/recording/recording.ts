// One request or iteration is found in a recording of the interposer (COTENANT_RECORD) by three rules:
//
// 1. The shortest period that covers nearly as many steps as any (period.ts). An inference's must contain a wait, if the
//    program waits at all, because a layer that repeats in a model is not a request.
// 2. For an inference whose requests differ: what most often lies between two waits, if it is more than half of the cases.
// 3. Otherwise, the whole recording.
//
// A period begins after the wait that the longest pause follows, or after the longest pause. Gaps are medians over all
// periods. A recording does not show how busy a kernel keeps the GPU, so every class is unknown.

import { type About, gpuOf } from "../importers/about.ts";
import { badProfile } from "../model/errors.ts";
import { smsNeeded, volume } from "../model/occupancy.ts";
import type {
  KernelProfile,
  ProfiledGpu,
  Step,
  WorkloadKind,
  WorkloadProfile,
} from "../model/types.ts";
import { findPeriod, later, type Period } from "./period.ts";
import {
  type Happened,
  type Item,
  type RecordedGraph,
  type RecordedKernel,
  type Recording,
  readRecording,
} from "./recording-file.ts";

/** Without a kind, the names of the kernels decide. */
export type RecordingAbout = Omit<About, "kind"> & { readonly kind?: WorkloadKind | undefined };

export interface Recorded {
  readonly profile: WorkloadProfile;
  /** It goes from the first request's or iteration's start to the last one's, in monotonic time. */
  readonly steady: { readonly fromNs: number; readonly toNs: number } | undefined;
}

/** Throws a UserError that names file and field of what cannot be used. */
export const importRecording = (text: string, about: RecordingAbout): WorkloadProfile =>
  importRecorded(text, about).profile;

export function importRecorded(text: string, given: RecordingAbout): Recorded {
  const recording = readRecording(text, given.file);
  const about = { ...given, kind: given.kind ?? kindOf(recording) };
  const { gpu } = gpuOf(about, recording.gpu);
  const happened = withoutEmptyWaits(recording.steps);
  if (!happened.some(({ does }) => "kernel" in does || "graph" in does))
    throw badProfile(about.file, "steps", "no launch is among them.");
  const period = periodOf(happened, recording, about.kind);
  const kernels = new Kernels(recording, gpu, about.file);
  const sequence = sequenceOf(happened, period, recording, kernels, about.kind);
  const { name, kind, source } = about;
  const soloNs = about.soloNs ?? soloOf(happened, period, kind);
  return {
    profile: { version: 1, name, kind, gpu, source, soloNs, kernels: kernels.used, sequence },
    steady: steadyOf(happened, period, recording.beganNs),
  };
}

const TRAINING = /backward|bwd|dgrad|wgrad|multi_tensor_apply|optimizer|adam|sgd_/i;

const kindOf = ({ kernels }: Recording): WorkloadKind =>
  kernels.some(({ name }) => TRAINING.test(name)) ? "training" : "inference";

function steadyOf(
  happened: readonly Happened[],
  { starts }: Period,
  beganNs: number | undefined,
): Recorded["steady"] {
  const at = (i: number | undefined) => (i === undefined ? undefined : happened[i]?.atNs);
  const [from, to] = starts.length > 1 ? [starts[0], starts.at(-1)] : [0, happened.length - 1];
  const [fromNs, toNs] = [at(from), at(to)];
  if (beganNs === undefined || fromNs === undefined || toNs === undefined) return undefined;
  return { fromNs: beganNs + fromNs, toNs: beganNs + toNs };
}

/** Several waits in a row count as one, because after the first there was nothing to wait for. */
function withoutEmptyWaits(steps: readonly Happened[]): readonly Happened[] {
  const kept: Happened[] = [];
  for (const step of steps) {
    const before = kept.at(-1);
    if (!isWait(step) || (before && !isWait(before))) kept.push(step);
  }
  return kept;
}

const isWait = ({ does }: Happened): boolean => "waitNs" in does;

function periodOf(happened: readonly Happened[], recording: Recording, kind: WorkloadKind): Period {
  const steps = numberSteps(happened, recording);
  const needsWait = kind === "inference" && happened.some(isWait);
  const waitsBefore = [0];
  for (const step of happened) waitsBefore.push((waitsBefore.at(-1) ?? 0) + (isWait(step) ? 1 : 0));
  const holdsWait = (begin: number, length: number) =>
    waitsBefore[begin] !== waitsBefore[begin + length];
  const found = findPeriod(steps, needsWait ? holdsWait : undefined);
  if (found) return begunRightly(happened, found);
  const usual = kind === "inference" ? usualBetweenWaits(happened, steps) : undefined;
  return usual ?? { length: happened.length, starts: [0] };
}

function numberSteps(happened: readonly Happened[], recording: Recording): Int32Array {
  const numbers = new Map<string, number>();
  const kernels = recording.kernels.map(keyOf);
  const itemKey = (item: Item) => ("copy" in item ? item.copy : (kernels[item.kernel] ?? ""));
  const graphs = recording.graphs.map(({ steps }, i) => steps?.map(itemKey).join("\n") ?? `${i}`);
  const key = ({ does }: Happened): string => {
    if ("waitNs" in does) return "wait";
    if ("graph" in does) return `graph ${graphs[does.graph]}`;
    return itemKey(does);
  };
  return Int32Array.from(happened, (step) => {
    const known = numbers.get(key(step)) ?? numbers.size;
    numbers.set(key(step), known);
    return known;
  });
}

const keyOf = (kernel: RecordedKernel): string => {
  const { name, grid, block, registers, staticSharedBytes, dynamicSharedBytes } = kernel;
  return JSON.stringify([name, grid, block, registers, staticSharedBytes, dynamicSharedBytes]);
};

function begunRightly(happened: readonly Happened[], period: Period): Period {
  const ways = Array.from({ length: period.length }, (_, by) => {
    const starts = later(period, by).starts;
    const [first = 0] = period.starts;
    // The step before a period is the last step of the one before it.
    const before = happened[first + ((by + period.length - 1) % period.length)];
    const pause = median(starts.map((start) => happened[start]?.gapNs ?? 0));
    return { by, pause, afterWait: before !== undefined && isWait(before) };
  });
  const fitting = ways.some(({ afterWait }) => afterWait)
    ? ways.filter(({ afterWait }) => afterWait)
    : ways;
  const best = fitting.reduce((best, way) => (way.pause > best.pause ? way : best));
  return later(period, best.by);
}

function usualBetweenWaits(happened: readonly Happened[], steps: Int32Array): Period | undefined {
  const places = new Map<string, Period>();
  let [begin, times] = [0, 0];
  happened.forEach((step, i) => {
    if (!isWait(step)) return;
    const length = i + 1 - begin;
    const key = steps.slice(begin, i + 1).join(" ");
    places.set(key, { length, starts: [...(places.get(key)?.starts ?? []), begin] });
    begin = i + 1;
    times++;
  });
  return [...places.values()].find(({ starts }) => starts.length > 1 && starts.length * 2 > times);
}

/** A request ends with its last wait; an iteration lasts from one start to the next. */
function soloOf(
  happened: readonly Happened[],
  { length, starts }: Period,
  kind: WorkloadKind,
): number | undefined {
  if (starts.length < 2) return undefined;
  const at = (i: number) => happened[i]?.atNs ?? 0;
  if (kind === "training")
    return median(starts.slice(1).map((start, i) => at(start) - at(starts[i] ?? 0)));
  const ends = starts.map((start) => happened[start + length - 1]);
  const times = ends.flatMap((end, i) =>
    end && "waitNs" in end.does ? [end.atNs + end.does.waitNs - at(starts[i] ?? 0)] : [],
  );
  return times.length === starts.length ? median(times) : undefined;
}

/** CPU time before a launch is all of it since the previous launch, without copies and waits. */
function sequenceOf(
  happened: readonly Happened[],
  { length, starts }: Period,
  recording: Recording,
  kernels: Kernels,
  kind: WorkloadKind,
): Step[] {
  const sequence: Step[] = [];
  const [example = 0] = starts;
  let gap = 0;
  const put = (item: Item, gapNs: number) =>
    "kernel" in item
      ? sequence.push({ kernel: kernels.place(item.kernel), gapNs })
      : sequence.push(item);
  for (let i = 0; i < length; i++) {
    const all = starts.flatMap((start) => happened[start + i] ?? []);
    // The pause before a request is not its work.
    if (i > 0 || kind === "training") gap += median(all.map(({ gapNs }) => gapNs));
    const does = happened[example + i]?.does;
    if (!does || "waitNs" in does) continue;
    if ("copy" in does) {
      const bytes = all.flatMap((one) => ("copy" in one.does ? [one.does.bytes] : []));
      sequence.push({ copy: does.copy, bytes: median(bytes) });
      continue;
    }
    if ("kernel" in does) {
      put(does, gap);
      gap = 0;
      continue;
    }
    const inside = recording.graphs[does.graph]?.steps;
    if (!inside) sequence.push({ kernel: kernels.graphPlace(does.graph), gapNs: gap });
    // Kernels of one graph have no time between them.
    for (const item of inside ?? []) {
      put(item, gap);
      if ("kernel" in item) gap = 0;
    }
    if (!inside) gap = 0;
  }
  // CPU time at the end of an iteration belongs to the first launch of the next.
  return kind === "training" ? withFirstGap(sequence, gap) : sequence;
}

function withFirstGap(sequence: readonly Step[], more: number): Step[] {
  const first = sequence.findIndex((step) => "kernel" in step);
  return sequence.map((step, i) =>
    i === first && "kernel" in step ? { ...step, gapNs: (step.gapNs ?? 0) + more } : step,
  );
}

class Kernels {
  readonly used: KernelProfile[] = [];
  readonly #places = new Map<string, number>();
  readonly #durations: ReadonlyMap<string, Duration>;

  readonly #recording: Recording;
  readonly #gpu: ProfiledGpu;
  readonly #file: string;

  constructor(recording: Recording, gpu: ProfiledGpu, file: string) {
    this.#recording = recording;
    this.#gpu = gpu;
    this.#file = file;
    this.#durations = durationsIn(recording);
  }

  place(index: number): number {
    const kernel = this.#recording.kernels[index];
    if (!kernel) throw new Error(`no kernel ${index}`);
    return this.#placeOf(keyOf(kernel), () => this.#profileOf(kernel, index));
  }

  /** A graph of which only the time is known counts as one kernel that fills the GPU. */
  graphPlace(index: number): number {
    const durationNs = this.#recording.graphs[index]?.durationNs;
    if (!durationNs) throw badProfile(this.#file, `graphs[${index}]`, "it was never timed.");
    return this.#placeOf(`graph ${index}`, () => ({
      name: `graph ${index}`,
      grid: [this.#gpu.sms, 1, 1],
      block: [1, 1, 1],
      durationNs,
      smsNeeded: this.#gpu.sms,
      class: "unknown",
    }));
  }

  #placeOf(key: string, make: () => KernelProfile): number {
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    this.#places.set(key, this.used.length);
    return this.used.push(make()) - 1;
  }

  #profileOf(kernel: RecordedKernel, index: number): KernelProfile {
    const { samples: _, launches: __, blocksPerSm, durationNs: ___, ...identity } = kernel;
    const durationNs = this.#durations.get(keyOf(kernel)) ?? this.#ofSameName(kernel);
    if (!durationNs)
      throw badProfile(
        this.#file,
        `kernels[${index}].durationNs`,
        `${kernel.name} was never timed: let the program run longer.`,
      );
    return {
      ...identity,
      durationNs,
      smsNeeded: blocksPerSm
        ? Math.ceil(volume(kernel.grid) / blocksPerSm)
        : smsNeeded(this.#gpu.computeCapability, kernel.grid, kernel),
      class: "unknown",
    };
  }

  #ofSameName(kernel: RecordedKernel): Duration | undefined {
    const blocks = volume(kernel.grid);
    return this.#recording.kernels
      .filter(({ name, durationNs }) => name === kernel.name && durationNs)
      .map(({ grid, durationNs }) => ({ away: Math.abs(volume(grid) - blocks), durationNs }))
      .sort((a, b) => a.away - b.away)[0]?.durationNs;
  }
}

type Duration = KernelProfile["durationNs"];

/**
 * Nothing can be timed inside a graph. Kernels that ran more often inside than outside share what
 * the others leave of the graph's time, in proportion to their times outside, if that is more. The
 * graph that was launched most often decides.
 */
function durationsIn({ kernels, graphs }: Recording): ReadonlyMap<string, Duration> {
  const keys = kernels.map(keyOf);
  const durations = new Map<string, Duration>();
  const outside = new Map<string, number>();
  for (const kernel of [...kernels].sort((a, b) => a.samples - b.samples)) {
    const key = keyOf(kernel);
    if (kernel.durationNs) durations.set(key, kernel.durationNs);
    outside.set(key, (outside.get(key) ?? 0) + kernel.launches);
  }
  const seen = new Map(durations);
  const inside = ({ steps = [] }: RecordedGraph) =>
    steps.flatMap((item) => ("kernel" in item ? (keys[item.kernel] ?? []) : []));
  const within = new Map<string, number>();
  for (const graph of graphs)
    for (const key of inside(graph)) within.set(key, (within.get(key) ?? 0) + graph.launches);
  for (const graph of [...graphs].sort((a, b) => a.launches - b.launches)) {
    if (!graph.durationNs) continue;
    const mostly = inside(graph).filter(
      (key) => !seen.has(key) || (outside.get(key) ?? 0) < (within.get(key) ?? 0),
    );
    const sum = (of: readonly string[], unseen: number) =>
      of.reduce((sum, key) => sum + (seen.get(key)?.p50 ?? unseen), 0);
    const ofSeen = mostly.filter((key) => seen.has(key));
    // A kernel that was never timed counts as an average one.
    const unseen = ofSeen.length > 0 ? sum(ofSeen, 0) / ofSeen.length : 1;
    const left = graph.durationNs.p50 - sum(inside(graph), 0) + sum(ofSeen, 0);
    const factor = Math.max(left, 0) / sum(mostly, unseen);
    for (const key of mostly) {
      const known = seen.get(key);
      const by = known ? Math.max(factor, 1) : factor;
      const { p50, p95 } = known ?? { p50: unseen, p95: unseen };
      durations.set(key, { p50: Math.round(p50 * by), p95: Math.round(p95 * by) });
    }
  }
  return durations;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}
