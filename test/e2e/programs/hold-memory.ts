// A program that allocates so many MiB of GPU memory, writes a pattern into it and launches every this many ms and at each
// SIGUSR2, until a file appears; then it reads the pattern back. Says what it does on stderr. Where a second file is named,
// it waits for that before it allocates.
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { deviceMemory, launch, loadCuda, makeStream, openGpu, parameters, stateWords } from "#load";

const [mib = "", file = "", every = "20", begin = ""] = process.argv.slice(2);
const bytes = Number(mib) * 2 ** 20;
const cuda = loadCuda();
const gpu = openGpu(cuda, 0, 1);
const stream = makeStream(gpu, "stream");
const state = deviceMemory(gpu, 4 * stateWords(gpu));
const given = parameters(state, 100n, 0n, 0n, BigInt(gpu.sms));
while (begin !== "" && !existsSync(begin)) await pause(10);
const memory = deviceMemory(gpu, bytes); // throws if it is refused
const pattern = Uint32Array.from({ length: bytes / 4 }, (_, i) => Math.imul(i, 2654435761) >>> 0);
cuda.cuMemcpyHtoD_v2(memory, pattern, bytes);
console.error("allocated");
let wake = () => {};
process.on("SIGUSR2", () => wake());
while (!existsSync(file)) {
  launch(cuda, gpu.kernels.compute, given, stream);
  cuda.cuStreamSynchronize(stream);
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, Number(every));
    wake = () => {
      clearTimeout(timer); // else the program would not end before
      resolve();
    };
  });
}
const seen = new Uint32Array(bytes / 4);
cuda.cuMemcpyDtoH_v2(seen, memory, bytes);
console.error(
  Buffer.compare(Buffer.from(pattern.buffer), Buffer.from(seen.buffer)) === 0 ? "intact" : "WRONG",
);
gpu.close();
