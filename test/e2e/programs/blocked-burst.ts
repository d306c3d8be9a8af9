// A high client whose GPU work waits for somebody else: it stands in the stream, kernel behind kernel, until a file
// appears, and nobody looks at it.
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import koffi from "koffi";
import {
  deviceMemory,
  launch,
  loadCuda,
  makeStream,
  memoryAt,
  openGpu,
  parameters,
  pinnedMemory,
  stateWords,
} from "#load";

const waitValue = koffi
  .load("libcuda.so.1")
  .func("cuStreamWaitValue32_v2", "int", ["void *", "uint64_t", "unsigned int", "unsigned int"]);
const EQUAL = 1;

const [file = ""] = process.argv.slice(2);
const cuda = loadCuda();
const gpu = openGpu(cuda, 0, 1);
const stream = makeStream(gpu, "stream");
const state = deviceMemory(gpu, 4 * stateWords(gpu));
const given = parameters(state, 100n, 0n, 0n, BigInt(gpu.sms));
const flag = pinnedMemory(gpu, 4);
const go = new Uint32Array(memoryAt(flag, 4));
const submit = () => launch(cuda, gpu.kernels.compute, given, stream);

go[0] = 0;
if (waitValue(stream, flag, 1, EQUAL) !== 0) throw new Error("the stream does not wait");
submit();
console.error("waiting");
for (let looks = 1; !existsSync(file); looks++) {
  await pause(10);
  if (looks % 10 === 0) submit(); // a burst in which nothing is submitted for long is taken for over
}
go[0] = 1;
cuda.cuStreamSynchronize(stream);
gpu.close();
