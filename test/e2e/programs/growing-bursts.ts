// A service whose bursts take as many times as long as a file says: launches one kernel, waits for it, and pauses.
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { deviceMemory, launch, loadCuda, makeStream, openGpu, parameters, stateWords } from "#load";

const ITERATIONS = 500;

const [file = ""] = process.argv.slice(2);
const cuda = loadCuda();
const gpu = openGpu(cuda, 0, 1);
const stream = makeStream(gpu, "stream");
const state = deviceMemory(gpu, 4 * stateWords(gpu));
const given = parameters(state, BigInt(ITERATIONS), 0n, 0n, BigInt(gpu.sms));
for (;;) {
  // Empty while it is being written.
  given.values[1] = BigInt(ITERATIONS * (Number(readFileSync(file, "utf8")) || 1));
  launch(cuda, gpu.kernels.compute, given, stream);
  cuda.cuStreamSynchronize(stream);
  await pause(5);
}
