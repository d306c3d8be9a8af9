// A best-effort client of the agent that uses the GPU as if it had no slot: nothing of Cotenant's is loaded.
import { connect } from "node:net";
import { runningAgent, startTimeOf } from "#agent";
import { deviceMemory, launch, loadCuda, makeStream, openGpu, parameters, stateWords } from "#load";
import { classes, constants, Hello, helloKinds, messageMagic, view } from "#protocol";

const hello = new ArrayBuffer(Hello.size);
const fields = view(Hello, hello);
fields.magic = messageMagic;
fields.version = constants.VERSION;
fields.kind = helloKinds.attach;
fields.class = classes["best-effort"];
fields.pid = process.pid;
fields.startTime = startTimeOf(process.pid) ?? 0;
fields.gpuUuid.set(Buffer.from("c07e4a1750f746908000000000000000", "hex")); // the first software GPU
fields.name = "ungated";
const socket = connect(runningAgent(process.env.COTENANT_DIR ?? "")?.socket ?? "");
socket.write(new Uint8Array(hello));
await new Promise((resolve) => socket.once("data", resolve));

const cuda = loadCuda();
const gpu = openGpu(cuda, 0, 1);
const stream = makeStream(gpu, "stream");
const state = deviceMemory(gpu, 4 * stateWords(gpu));
const given = parameters(state, 10_000n, 0n, 0n, BigInt(gpu.sms));
console.error("running");
for (;;) {
  for (let i = 0; i < 20; i++) launch(cuda, gpu.kernels.compute, given, stream);
  cuda.cuStreamSynchronize(stream);
}
