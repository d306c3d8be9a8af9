// A training that writes checkpoints, run in pods of the tests. Its state is in GPU memory, one word a thread, and each
// step adds to all of them. Every half a second it copies the state to the host and into the file of its checkpoint, and
// begins there when it is started again. On SIGTERM it ends behind the next one, which a parked training does not reach.
// Its line on stdout is JSON. It ends with an error when a step was lost or done twice.
// Usage: trainer.ts CHECKPOINT
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setImmediate as signalsAreHandled } from "node:timers/promises";
import { deviceMemory, launch, loadCuda, makeStream, openGpu, parameters, stateWords } from "#load";

const KERNELS = 20;
/** About 150 us each. */
const ITERATIONS = 880n;
const CHECKPOINT_EACH_MS = 500;

interface Checkpoint {
  readonly steps: number;
  readonly state: readonly number[];
}

const [path = ""] = process.argv.slice(2);
const cuda = loadCuda();
const gpu = openGpu(cuda, 0, 1);
/** Small allocations are not parked. */
const MIN_BYTES = 4 * 2 ** 20;
const state = deviceMemory(gpu, Math.max(MIN_BYTES, 4 * stateWords(gpu)));
const stream = makeStream(gpu, "stream");
const given = parameters(state, ITERATIONS, 0n, 0n, BigInt(gpu.sms));
/** The words that are checked and kept: the first ones, which all kernels change. */
const words = new Float32Array(64);

const before: Checkpoint = existsSync(path)
  ? JSON.parse(readFileSync(path, "utf8"))
  : { steps: 0, state: Array.from(words, (_, i) => i) };
words.set(before.state);
cuda.cuMemcpyHtoD_v2(state, words, words.byteLength);
console.log(JSON.stringify({ begins: before.steps }));

let { steps } = before;
let isAsked = false;
process.on("SIGTERM", () => {
  isAsked = true;
});
while (!isAsked) {
  const until = performance.now() + CHECKPOINT_EACH_MS;
  while (performance.now() < until) {
    for (let i = 0; i < KERNELS; i++) launch(cuda, gpu.kernels.compute, given, stream);
    cuda.cuStreamSynchronize(stream);
    steps++;
  }
  cuda.cuMemcpyDtoH_v2(words, state, words.byteLength);
  const wrong = words.findIndex((word, i) => word !== i + steps * KERNELS);
  if (wrong >= 0) throw new Error(`word ${wrong} is ${words[wrong]} after ${steps} steps`);
  const checkpoint: Checkpoint = { steps, state: Array.from(words) };
  writeFileSync(`${path}.new`, JSON.stringify(checkpoint));
  renameSync(`${path}.new`, path);
  await signalsAreHandled();
}
// With 0 its Job would be complete.
process.exit(143);
