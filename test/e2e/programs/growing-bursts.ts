// A service whose bursts take 40 times as long once a file is there: launches one kernel, waits for it, and pauses.
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { deviceMemory, launch, loadCuda, makeStream, openGpu, parameters, stateWords } from "#load";

const ITERATIONS = 500n;
const GROWTH = 40n;

const [file = ""] = process.argv.slice(2);
const cuda = loadCuda();
const gpu = openGpu(cuda, 0, 1);
const stream = makeStream(gpu, "stream");
const state = deviceMemory(gpu, 4 * stateWords(gpu));
const given = parameters(state, ITERATIONS, 0n, 0n, BigInt(gpu.sms));
for (;;) {
  given.values[1] = existsSync(file) ? GROWTH * ITERATIONS : ITERATIONS;
  launch(cuda, gpu.kernels.compute, given, stream);
  cuda.cuStreamSynchronize(stream);
  await pause(5);
}
