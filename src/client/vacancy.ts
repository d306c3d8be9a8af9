// Every user may connect to the machine's agent, but only its owner has the HTTP token.
import { connect } from "node:net";
import { type Service, startTimeOf } from "#agent";
import {
  classes,
  constants,
  Hello,
  helloKinds,
  messageMagic,
  type View,
  view,
  Welcome,
  welcomeStatus,
} from "#protocol";

const ANSWER_WITHIN_MS = 5000; // an agent with CPU time answers sooner
const QUEUE_FULL = "EAGAIN"; // the agent's queue of connections is full then
type GpuName = { readonly uuid: Uint8Array } | { readonly index: number };
const ANY: GpuName = { index: -1 };

const UUID = /^GPU-([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})$/i;

/**
 * A number names a GPU only where CUDA counts as the driver does; otherwise, as for an abbreviated
 * UUID or a MIG instance, it may be any.
 */
export function visibleGpus(
  env: Readonly<Record<string, string | undefined>>,
  gpuNames: readonly string[],
): readonly GpuName[] {
  const visible = env.CUDA_VISIBLE_DEVICES;
  if (visible === undefined) return [ANY];
  const inOrder = env.CUDA_DEVICE_ORDER === "PCI_BUS_ID" || new Set(gpuNames).size <= 1;
  const gpus: GpuName[] = [];
  for (const word of visible.split(",").map((one) => one.trim())) {
    const digits = UUID.exec(word)?.slice(1).join("");
    if (digits !== undefined) gpus.push({ uuid: Uint8Array.from(Buffer.from(digits, "hex")) });
    else if (/^\d+$/.test(word) && inOrder) gpus.push({ index: Number(word) });
    else if (/^(\d|GPU-|MIG-)/.test(word)) return [ANY];
    else break; // CUDA ignores what follows an invalid entry
  }
  return gpus;
}

/** undefined also where the agent cannot tell, or refuses for good: the program learns it later. */
export async function whyNotNow(
  agent: Pick<Service, "socket" | "gpuNames" | "pid">,
  env: Readonly<Record<string, string | undefined>>,
  answerWithinMs = ANSWER_WITHIN_MS,
): Promise<string | undefined> {
  let first: string | undefined;
  for (const gpu of visibleGpus(env, agent.gpuNames)) {
    const answer = await ask(agent.socket, gpu, answerWithinMs);
    if (answer === "busy")
      return `The agent (pid ${agent.pid}) is busy: it does not answer. If it stays so, free CPU time for it, or end it with "kill -9 ${agent.pid}" and start another.`;
    if (answer === "gone")
      return `The agent (pid ${agent.pid}) ends, or hangs up. If it stays so, start another with "cotenant up".`;
    if (answer?.status !== welcomeStatus.later) return undefined;
    first ??= answer.reason;
  }
  return first;
}

// busy: an agent did not answer in time. gone: none listens, or it hung up. undefined: another
// protocol answered.
function ask(
  socketPath: string,
  gpu: GpuName,
  withinMs: number,
): Promise<{ readonly status: number; readonly reason: string } | "busy" | "gone" | undefined> {
  return new Promise((resolve) => {
    let busy = false;
    const socket = connect(socketPath);
    const chunks: Uint8Array[] = [];
    socket.setTimeout(withinMs, () => {
      busy = true;
      socket.destroy();
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      busy = error.code === QUEUE_FULL;
      socket.destroy();
    });
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      if (chunks.reduce((sum, { length }) => sum + length, 0) >= Welcome.size) socket.destroy();
    });
    socket.on("end", () => socket.destroy());
    socket.on("close", () => {
      const bytes = Buffer.concat(chunks);
      if (bytes.length === 0) return resolve(busy ? "busy" : "gone");
      if (bytes.length !== Welcome.size) return resolve(undefined);
      const { magic, version, status, reason } = view(Welcome, new Uint8Array(bytes).buffer);
      const isOurs = magic === messageMagic && version === constants.VERSION;
      resolve(isOurs ? { status, reason } : undefined);
    });
    socket.write(question(gpu));
  });
}

export function hasToWait(
  { gpuNames }: Pick<Service, "gpuNames">,
  env: Readonly<Record<string, string | undefined>>,
  pid: number,
  ask: (hello: View<typeof Hello>) => { readonly status: number },
): boolean {
  const gpus = visibleGpus(env, gpuNames);
  return (
    gpus.length > 0 &&
    gpus.every((gpu) => ask(view(Hello, question(gpu, pid).buffer)).status === welcomeStatus.later)
  );
}

function question(gpu: GpuName, pid = process.pid): Uint8Array<ArrayBuffer> {
  const bytes = new ArrayBuffer(Hello.size);
  const hello = view(Hello, bytes);
  hello.magic = messageMagic;
  hello.version = constants.VERSION;
  hello.kind = helloKinds.ask;
  hello.class = classes["best-effort"];
  hello.pid = pid;
  hello.startTime = startTimeOf(pid) ?? 0;
  hello.slot = -1;
  hello.gpuIndex = "index" in gpu ? gpu.index : -1;
  if ("uuid" in gpu) hello.gpuUuid.set(gpu.uuid);
  return new Uint8Array(bytes);
}
