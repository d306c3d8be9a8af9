import { expect, onTestFinished, test } from "vitest";
import { nanos } from "#core";
import { parkStates } from "#protocol";
import { defaultApplicant, ServedGpu } from "../gpus/gpu.ts";
import { movableMemory } from "./movable.ts";

const GiB = 2 ** 30;

test("who sees a command answered sees what came of it, whenever the client answers", () => {
  const gpu = new ServedGpu({ uuid: new Uint8Array(16), name: "test", smCount: 1 }, process.pid);
  onTestFinished(() => gpu.close());
  const who = { pid: process.pid, startTime: 1 };
  gpu.take({ ...defaultApplicant, ...who, class: "best-effort", name: "train" }, nanos(0));
  const memory = gpu.region.memory.bestEffort[0]?.memory;
  if (!memory) throw new Error("no slot");
  Object.assign(memory, { movable: 1, movableBytes: GiB });
  const names: string[] = [];
  /** The client parks right before the read of that number. */
  const parkingBefore = (read: number) => {
    Object.assign(memory, { parkState: parkStates.parking, parkedBytes: 0 });
    Object.assign(memory, { parkAsked: 1, parkAnswered: 0 });
    let reads = 0;
    return new Proxy(memory, {
      get(target, name: keyof typeof memory) {
        if (reads++ === read)
          Object.assign(target, {
            parkState: parkStates.parked,
            parkedBytes: GiB,
            parkAnswered: 1,
          });
        names.push(name);
        return target[name];
      },
    });
  };
  movableMemory(parkingBefore(-1), undefined, 0);
  const answers = [...names.keys()].map((read) => movableMemory(parkingBefore(read), undefined, 0));
  for (const seen of answers)
    if (seen?.answered === 1) expect(seen).toMatchObject({ state: "parked", parkedBytes: GiB });
  expect(new Set(answers.map((seen) => seen?.answered))).toEqual(new Set([0, 1]));
});
