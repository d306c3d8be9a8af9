// Submits kernels and never looks at them until a file appears.
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { deviceMemory, launch, loadCuda, makeStream, openGpu, parameters, stateWords } from "#load";

const [file = ""] = process.argv.slice(2);
const cuda = loadCuda();
const gpu = openGpu(cuda, 0, 1);
const stream = makeStream(gpu, "stream");
const state = deviceMemory(gpu, 4 * stateWords(gpu));
const given = parameters(state, 100n, 0n, 0n, BigInt(gpu.sms));
const submit = () => launch(cuda, gpu.kernels.compute, given, stream);

submit();
console.error("waiting");
while (!existsSync(file)) {
  await pause(10);
  submit(); // a burst in which nothing is submitted for long is taken for over
}
cuda.cuStreamSynchronize(stream);
gpu.close();
