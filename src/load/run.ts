// One run: calibrate, warm up, serve, check, report.
import { type Arrivals, arrivalSeconds, arrivalTimes, parseArrivalFile } from "./arrivals.ts";
import { calibrate } from "./calibrate.ts";
import type { Cuda } from "./cuda.ts";
import { deviceMemory, type Gpu, openGpu } from "./gpu.ts";
import type { Plan, Result, Served } from "./plan.ts";
import { seeded } from "./random.ts";
import { type Clock, closedLoop, openLoop, type Server, type Stop } from "./serve.ts";
import { makeSlot, makeStream, type Slot, streamedElements } from "./slot.ts";
import { checksum, resetState, stateCounts } from "./state.ts";
import { summarise } from "./summary.ts";

export interface Surroundings {
  readonly cuda: Cuda;
  readonly clock: Clock;
  readonly stop: Stop;
  readText(path: string): string;
  /** One line for a person. */
  say(line: string): void;
}

export interface Run {
  readonly result: Result;
  readonly served: readonly Served[];
}

export async function runLoad(plan: Plan, around: Surroundings): Promise<Run> {
  const { cuda, clock, stop, say } = around;
  const arrivals = arrivalsOf(plan, around);
  const gpu = openGpu(cuda, plan.sms);
  if (plan.memory) deviceMemory(gpu, plan.memory);
  const slots = makeSlots(gpu, plan);
  const calibration = calibrate(gpu, plan, slots);
  for (const [name, { iterations, kernelUs }] of Object.entries(calibration))
    say(`${name}: ${iterations} iterations, ${kernelUs} us a kernel`);
  for (const slot of slots) resetState(gpu, slot, plan.seed);

  const server = inTurn(slots);
  await closedLoop(server, clock, plan.depth, plan.warmup, stop);
  say(`serving for ${arrivalSeconds(plan.arrivals, plan.seconds)} s`);
  const served = arrivals
    ? await openLoop(server, clock, arrivals, stop)
    : await closedLoop(server, clock, plan.depth, plan.seconds, stop);

  const intact = slots.every((slot) =>
    stateCounts(gpu, slot, plan.seed, slot.submitted() * plan.kernels),
  );
  const result: Result = {
    version: 1,
    gpu: gpu.name,
    shape: plan.shape,
    ...summarise(served),
    calibration,
    intact,
    checksum: checksum(gpu, slots[0], plan.seed),
  };
  // Not after a failure: then every release would fail too, and the process is about to end.
  gpu.close();
  return { result, served };
}

function arrivalsOf(plan: Plan, { readText }: Surroundings): readonly number[] | undefined {
  const arrivals: Arrivals = plan.arrivals;
  if (arrivals.kind === "closed") return undefined;
  if (arrivals.kind === "file") return parseArrivalFile(readText(arrivals.path), arrivals.path);
  return arrivalTimes(arrivals, plan.seconds, seeded(plan.seed));
}

function makeSlots(gpu: Gpu, plan: Plan): readonly [Slot, ...Slot[]] {
  const streams = Array.from({ length: plan.streams }, () => makeStream(gpu, plan.await));
  const streamed = plan.shape === "compute" ? 0n : deviceMemory(gpu, 16 * streamedElements);
  const slot = (i: number) => makeSlot(gpu, plan, streams[i % streams.length] ?? 0n, streamed);
  const others = Math.max(plan.depth, plan.streams) - 1;
  return [slot(0), ...Array.from({ length: others }, (_, i) => slot(i + 1))];
}

/** Request i goes to slot i modulo their number. */
function inTurn(slots: readonly [Slot, ...Slot[]]): Server {
  const slot = (request: number) => slots[request % slots.length] ?? slots[0];
  return {
    submit: (request) => slot(request).submit(),
    wait: (request) => slot(request).wait(),
  };
}
