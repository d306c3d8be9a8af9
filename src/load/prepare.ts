import { calibrate } from "./calibrate.ts";
import type { Cuda } from "./cuda.ts";
import { deviceMemory, type Gpu, openGpu } from "./gpu.ts";
import type { KernelName } from "./kernels.ts";
import type { Calibration, Work } from "./plan.ts";
import { requestReporter } from "./report-requests.ts";
import { type Clock, closedLoop, type Server, type Stop } from "./serve.ts";
import { makeSlot, makeStream, type Slot, streamedElements } from "./slot.ts";
import { checksum, resetState, stateCounts } from "./state.ts";
import { inTokens, reporting } from "./tokens.ts";

export interface Surroundings {
  readonly cuda: Cuda;
  readonly clock: Clock;
  readonly stop: Stop;
  readText(path: string): string;
  say(line: string): void;
}

export interface Prepared {
  readonly server: Server;
  readonly gpu: string;
  readonly calibration: Partial<Record<KernelName, Calibration>>;
  intact(): boolean;
  /** Changes the state, so `intact` must not be called after it. */
  checksum(): string;
  /** It must not be called after a failure: every release would fail, too. */
  close(): void;
}

export async function prepare(work: Work, around: Surroundings): Promise<Prepared> {
  const { cuda, clock, stop, say } = around;
  const gpu = openGpu(cuda, work.sms, work.waves);
  if (work.memory) deviceMemory(gpu, work.memory);
  const slots = makeSlots(gpu, work);
  const calibration = calibrate(gpu, work, slots);
  for (const [name, { iterations, kernelUs }] of Object.entries(calibration))
    say(`${name}: ${iterations} iterations, ${kernelUs} us a kernel`);
  for (const slot of slots) resetState(gpu, slot, work.seed);
  const server = serverOf(slots, work, clock);
  await closedLoop(server, clock, work.depth, work.warmup, stop);
  return {
    server,
    gpu: gpu.name,
    calibration,
    intact: () =>
      slots.every((slot) => stateCounts(gpu, slot, work.seed, slot.submissions() * work.kernels)),
    checksum: () => checksum(gpu, slots[0], work.seed),
    close: gpu.close,
  };
}

function makeSlots(gpu: Gpu, work: Work): readonly [Slot, ...Slot[]] {
  const streams = Array.from({ length: work.streams }, () => makeStream(gpu, work.await));
  const streamed = work.shape === "compute" ? 0n : deviceMemory(gpu, 16 * streamedElements);
  const slot = (i: number) => makeSlot(gpu, work, streams[i % streams.length] ?? 0n, streamed);
  const others = Math.max(work.depth, work.streams) - 1;
  return [slot(0), ...Array.from({ length: others }, (_, i) => slot(i + 1))];
}

function serverOf(
  slots: readonly [Slot, ...Slot[]],
  { tokens, report }: Work,
  clock: Clock,
): Server {
  const slot = (request: number) => slots[request % slots.length] ?? slots[0];
  const told = report ? reporting(requestReporter()) : undefined;
  const one: Server = {
    submit: (request) => slot(request).submit(),
    wait: (request) => slot(request).wait(),
  };
  const copyIn = (request: number) => slot(request).copyIn();
  const whole = tokens > 0 ? inTokens(one, clock, copyIn, tokens, told?.token ?? (() => {})) : one;
  return told ? told.around(whole) : whole;
}
