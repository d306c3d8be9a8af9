import { setTimeout as pause } from "node:timers/promises";
import type { AgentFile, BestEffortStatus, Status } from "#agent";
import { askStatus, askToMove, ownAgentHere } from "#client";
import { errors, gibibytes, usage } from "#core";
import { command, json, text } from "../../program/command.ts";
import { clientOn, onlyClient } from "./moving.ts";

const ENDED_AFTER_MS = 10_000; // it is on neither GPU for milliseconds while it changes
const DONE_WITHIN_MS = 300_000; // there and back: 140 GB by the driver's checkpoint take two minutes

const options = {
  to: text("GPU", undefined, "the other GPU: its UUID, or how it begins, as status shows it"),
  json,
};

export const moveCommand = command({
  name: "move",
  summary: "move a best-effort client to another GPU of this machine",
  options,
  positional: { name: "NAME|PID", doc: "a best-effort client", atLeast: 1 },
  examples: ["cotenant move train --to GPU-37a7f3fa"],
  async run({ positional: [called = "", ...more], to, ...args }) {
    if (more.length > 0) throw usage("move is about one client at a time.");
    if (to === undefined) throw usage("--to GPU is missing: move to which GPU?");
    const { agent } = ownAgentHere();
    const began = performance.now();
    const { gpu, client } = await move(agent, called, to);
    const seconds = (performance.now() - began) / 1000;
    const { name, pid } = client;
    if (args.json) console.log(JSON.stringify({ name, pid, gpu, seconds }));
    else console.log(`${name} (pid ${pid}) goes on with ${gpu}, after ${seconds.toFixed(2)} s.`);
    return 0;
  },
});

interface Arrived {
  readonly gpu: string;
  readonly client: BestEffortStatus;
}

async function move(agent: AgentFile, called: string, to: string): Promise<Arrived> {
  const status = await askStatus(agent);
  const { gpu: from, client } = onlyClient(status, called);
  const { pid, name, memoryUsed, memory } = client;
  const movable = memory?.movable ?? false;
  const target = gpuCalled(status, to);
  const failed = (why: string) => errors.notMoved(`${name} (pid ${pid}) is not moved`, why);
  if (target.uuid === from.uuid) throw failed(`${target.uuid} is its GPU`);
  if (target.name !== from.name)
    throw failed(
      `${target.uuid} is no ${from.name}, and the driver moves between GPUs of one kind`,
    );
  const { memoryTotal, memoryUsed: taken } = target.reading ?? {};
  const free = memoryTotal === undefined ? undefined : memoryTotal - (taken ?? 0);
  if (free !== undefined && free < memoryUsed)
    throw failed(`it has ${gibibytes(memoryUsed)}, and ${target.uuid} has ${gibibytes(free)} free`);
  const [{ asked = 0 } = {}] = await askToMove(agent, String(pid), target.uuid);
  const began = performance.now();
  let seen = began;
  for (;;) {
    const { gpus } = await askStatus(agent);
    const there = clientOn(gpus, target.uuid, pid);
    // A movable client's parked memory returns after the move.
    if (there && (there.memory ? there.memory.state === "open" : !movable))
      return { gpu: target.uuid, client: there };
    const here = clientOn(gpus, from.uuid, pid);
    if (here?.memory?.answered === asked)
      throw failed(here.memory.reason ?? "another command came after this one");
    const now = performance.now();
    if (here ?? there) seen = now;
    if (now - seen > ENDED_AFTER_MS) throw failed(`it has ended, or has no slot on ${target.uuid}`);
    if (now - began > DONE_WITHIN_MS)
      throw failed(`it is not there after ${DONE_WITHIN_MS / 1000} s`);
    await pause(20);
  }
}

function gpuCalled({ gpus }: Status, called: string) {
  const found = gpus.filter(({ uuid }) => uuid.toLowerCase().startsWith(called.toLowerCase()));
  const [gpu, other] = found;
  if (!gpu || other || called.length < "GPU-".length)
    throw usage(
      `"${called}" is ${other ? "several GPUs" : "no GPU"} of this machine.`,
      `They are ${gpus.map(({ uuid }) => uuid).join(", ")}.`,
    );
  return gpu;
}
