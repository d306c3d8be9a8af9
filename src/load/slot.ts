// A slot is used again only when its request is done.
import { UserError } from "#core";
import { memoryAt, readHandle } from "./cuda.ts";
import {
  deviceMemory,
  type Gpu,
  launch,
  type Parameters,
  parameters,
  pinnedMemory,
  stateWords,
} from "./gpu.ts";
import type { KernelName } from "./kernels.ts";
import { type Await, kernelsOf, type Work } from "./plan.ts";

export interface Slot {
  submit(): void;
  wait(): void;
  /** Nothing of the slot may be in flight. */
  copyIn(): void;
  submissions(): number;
  readonly stream: bigint;
  readonly state: bigint; // each thread of the largest grid has a word
  readonly parameters: Readonly<Record<KernelName, Parameters>>;
}

/** 256 MiB in elements of 16 bytes are several times the size of an L2 cache. */
export const streamedElements = 2 ** 24;

const captureThreadLocal = 1;
const disableTiming = 2;
const nonBlocking = 1;

/** A synchronous copy waits for no streams but blocking ones. */
export const makeStream = ({ cuda, own }: Gpu, noticed: Await): bigint =>
  own(
    readHandle((out) => cuda.cuStreamCreate(out, noticed === "copy" ? 0 : nonBlocking)),
    cuda.cuStreamDestroy_v2,
  );

export function makeSlot(gpu: Gpu, work: Work, stream: bigint, streamed: bigint): Slot {
  const { cuda, own } = gpu;
  const words = stateWords(gpu);
  const state = deviceMemory(gpu, Math.max(4 * words, work.copyOut));
  const input = deviceMemory(gpu, Math.max(work.copyIn, 4));
  const inputHost = pinnedMemory(gpu, Math.max(work.copyIn, 4));
  const outputHost = pinnedMemory(gpu, Math.max(work.copyOut, 4));
  const given = () =>
    parameters(state, 1n, streamed, BigInt(streamedElements - 1), BigInt(gpu.sms));
  const slot = { stream, state, parameters: { compute: given(), memory: given() } };

  const enqueue = () => {
    if (work.copyIn) cuda.cuMemcpyHtoDAsync_v2(input, inputHost, work.copyIn, stream);
    for (const name of kernelsOf(work))
      launch(cuda, gpu.kernels[name], slot.parameters[name], stream);
    if (work.copyOut && work.await !== "copy")
      cuda.cuMemcpyDtoHAsync_v2(outputHost, state, work.copyOut, stream);
  };
  let graph: bigint | undefined;
  let submitted = 0;
  const notice = noticing(gpu, work, { stream, state, outputHost });
  return {
    ...slot,
    submit() {
      if (work.graph) {
        // The number of iterations is known at the first submission.
        graph ??= own(captureGraph(gpu, stream, enqueue), cuda.cuGraphExecDestroy);
        cuda.cuGraphLaunch(graph, stream);
      } else enqueue();
      notice.mark();
      submitted++;
    },
    wait: notice.wait,
    copyIn() {
      cuda.cuMemcpyHtoDAsync_v2(input, inputHost, 4, stream);
      cuda.cuStreamSynchronize(stream);
    },
    submissions: () => submitted,
  };
}

function captureGraph({ cuda }: Gpu, stream: bigint, enqueue: () => void): bigint {
  cuda.cuStreamBeginCapture_v2(stream, captureThreadLocal);
  enqueue();
  const graph = readHandle((out) => cuda.cuStreamEndCapture(stream, out));
  const executable = readHandle((out) => cuda.cuGraphInstantiateWithFlags(out, graph, 0n));
  cuda.cuGraphDestroy(graph);
  return executable;
}

interface Noticing {
  mark(): void;
  wait(): void;
}

function noticing(
  gpu: Gpu,
  work: Work,
  slot: { readonly stream: bigint; readonly state: bigint; readonly outputHost: bigint },
): Noticing {
  const { cuda, own } = gpu;
  const { stream, state, outputHost } = slot;
  const event = () =>
    own(
      readHandle((out) => cuda.cuEventCreate(out, disableTiming)),
      cuda.cuEventDestroy_v2,
    );
  switch (work.await) {
    case "stream":
      return { mark() {}, wait: () => cuda.cuStreamSynchronize(stream) };
    case "copy": {
      const bytes = Math.max(work.copyOut, 4);
      return { mark() {}, wait: () => cuda.cuMemcpyDtoH_v2(outputHost, state, bytes) };
    }
    case "event-sync": {
      const done = event();
      return {
        mark: () => cuda.cuEventRecord(done, stream),
        wait: () => cuda.cuEventSynchronize(done),
      };
    }
    case "event-query": {
      const done = event();
      return {
        mark: () => cuda.cuEventRecord(done, stream),
        wait() {
          while (!cuda.cuEventQuery(done));
        },
      };
    }
    case "poll":
      return polling(gpu, stream);
  }
}

const pollSpins = 2 ** 33;

function polling(gpu: Gpu, stream: bigint): Noticing {
  const { cuda } = gpu;
  const word = deviceMemory(gpu, 4);
  const wordHost = pinnedMemory(gpu, 4);
  const seen = new Uint32Array(memoryAt(wordHost, 4));
  seen[0] = 0;
  let sequence = 0;
  return {
    mark() {
      sequence = (sequence + 1) >>> 0;
      cuda.cuMemsetD32Async(word, sequence, 1, stream);
      cuda.cuMemcpyDtoHAsync_v2(wordHost, word, 4, stream);
    },
    wait() {
      for (let spins = 0; Atomics.load(seen, 0) !== sequence; spins++)
        if (spins > pollSpins)
          throw new UserError("NO_ANSWER", "The GPU did not finish a request within a minute.");
    },
  };
}
