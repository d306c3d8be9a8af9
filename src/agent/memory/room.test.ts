// Which client is parked for which, on real shared memory with clients that answer as the test says.

import { expect, onTestFinished, test } from "vitest";
import { nanos } from "#core";
import { parkStates } from "#protocol";
import { defaultApplicant, ServedGpu } from "../gpus/gpu.ts";
import { Room } from "./room.ts";

const GiB = 2 ** 30;
const SECOND = 1e9;

function gpuWith(...trainings: readonly { readonly gib: number; readonly share?: number }[]) {
  let now = 100 * SECOND;
  let free: number | undefined = 0;
  const gpu = new ServedGpu({ uuid: new Uint8Array(16), name: "test", smCount: 1 }, process.pid);
  onTestFinished(() => gpu.close());
  const who = { pid: process.pid, startTime: 1 };
  gpu.take({ ...defaultApplicant, ...who, class: "high", name: "serve" }, nanos(now));
  const slots = trainings.map(({ gib, share = 1 }, i) => {
    const name = `train ${i}`;
    gpu.take({ ...defaultApplicant, ...who, class: "best-effort", name, share }, nanos(now));
    const slot = gpu.region.memory.bestEffort[i];
    if (!slot) throw new Error("no slot");
    slot.memory.movable = 1;
    slot.memory.movableBytes = gib * GiB;
    return slot.memory;
  });
  const high = gpu.region.memory.high[0]?.memory;
  if (!high) throw new Error("no slot");
  const room = (reserve = 0) =>
    new Room({
      reserve: reserve * GiB,
      quantum: "auto",
      free: () => free,
      now: () => nanos(now),
      log: () => {},
    });
  return {
    gpus: [gpu],
    high,
    slots,
    room,
    asked: () => slots.map(({ parkAsked }) => parkAsked),
    answer(i: number, state: keyof typeof parkStates) {
      const slot = slots[i];
      if (!slot) return;
      slot.parkState = parkStates[state];
      const all = slot.parkBytes === 0 ? slot.movableBytes : slot.parkBytes;
      slot.parkedBytes = state === "parked" ? Math.max(all, slot.parkedBytes) : 0;
      slot.parkAnswered = slot.parkAsked;
    },
    pass: (seconds: number) => {
      now += seconds * SECOND;
    },
    leave: (bytes: number | undefined) => {
      free = bytes;
    },
  };
}

/** The last answer to a client. */
function told({ memoryAnswer }: { readonly memoryAnswer: number }): string {
  if (memoryAnswer === 0) return "nothing";
  return memoryAnswer % 2 === 1 ? "memory comes" : "there is none";
}

test("takes from the smallest share first, and no more than is wanted", () => {
  const { gpus, high, room, asked } = gpuWith({ gib: 10, share: 2 }, { gib: 6 }, { gib: 6 });
  high.memoryWanted = 8 * GiB;
  room().look(gpus);
  expect(asked()).toEqual([0, 1, 1]);
  expect(told(high)).toBe("memory comes");
});

test("an answer carries the tag of the allocation that it is for, and no two are equal", () => {
  const { gpus, high, room } = gpuWith({ gib: 10 });
  const one = room();
  high.memoryWanted = 8 * GiB + 200;
  const answers = Array.from({ length: 5 }, () => {
    one.look(gpus);
    return high.memoryAnswer;
  });
  expect(new Set(answers).size).toBe(5);
  expect(answers.map((answer) => answer >>> 24)).toEqual([200, 200, 200, 200, 200]);
  // The client alone says that it wants nothing any more.
  expect(high.memoryWanted).toBe(8 * GiB + 200);
});

test("says so when there is nobody to take from", () => {
  const { gpus, high, room, slots } = gpuWith({ gib: 10 });
  for (const slot of slots) slot.movable = 0;
  high.memoryWanted = GiB;
  room().look(gpus);
  expect(told(high)).toBe("there is none");
});

test("parks nobody else while memory has just come free, and the next one later", () => {
  const { gpus, high, room, asked, answer, pass } = gpuWith({ gib: 10 }, { gib: 9 });
  const one = room();
  high.memoryWanted = 8 * GiB;
  one.look(gpus);
  expect(asked()).toEqual([1, 0]);
  answer(0, "parked");
  one.look(gpus);
  expect(asked()).toEqual([1, 0]);
  pass(1);
  one.look(gpus);
  expect(asked()).toEqual([3, 1]); // what is left of the first, and of the second the rest
});

test("does not ask a client again that has just refused", () => {
  const { gpus, high, room, asked, answer, pass } = gpuWith({ gib: 10 });
  const one = room();
  high.memoryWanted = GiB;
  one.look(gpus);
  answer(0, "open");
  one.look(gpus);
  expect({ asked: asked(), told: told(high) }).toEqual({ asked: [1], told: "there is none" });
  pass(11);
  high.memoryWanted = GiB;
  one.look(gpus);
  expect(asked()).toEqual([3]);
});

test("gives back when it fits beside the reserve, unless somebody else has decided", () => {
  const { gpus, high, room, asked, answer, pass, leave, slots } = gpuWith({ gib: 4 }, { gib: 4 });
  const one = room(2);
  leave(2 * GiB);
  high.memoryWanted = 8 * GiB;
  one.look(gpus);
  high.memoryWanted = 0;
  answer(0, "parked");
  answer(1, "parked");
  expect(asked()).toEqual([1, 1]);
  pass(11);
  leave(5 * GiB);
  one.look(gpus);
  expect(asked()).toEqual([1, 1]);
  if (slots[0]) slots[0].parkAsked = 3; // by command
  leave(8 * GiB);
  one.look(gpus);
  expect(asked()).toEqual([3, 2]);
});

test("keeps the reserve free", () => {
  const { gpus, room, asked, leave } = gpuWith({ gib: 4 });
  const one = room(2);
  leave(3 * GiB);
  one.keepReserve(gpus);
  expect(asked()).toEqual([0]);
  leave(GiB);
  one.keepReserve(gpus);
  expect(asked()).toEqual([1]);
  leave(undefined);
  one.keepReserve(gpus);
  expect(asked()).toEqual([1]);
});

test("clients are told whether anybody can park memory", () => {
  const { gpus, slots, room } = gpuWith({ gib: 10 }, { gib: 6 });
  const one = room();
  const { roster } = gpus[0]?.region.memory ?? {};
  expect(one.look(gpus)).toBe(true);
  expect(roster?.movers).toBe(0b11);
  for (const slot of slots.slice(0, 1)) slot.movable = 0;
  expect(one.look(gpus)).toBe(true);
  expect(roster?.movers).toBe(0b10);
  for (const slot of slots) slot.movable = 0;
  expect(one.look(gpus)).toBe(false);
  expect(roster?.movers).toBe(0);
});

test("clients are told whose memory is being parked or returned", () => {
  const { gpus, slots, room } = gpuWith({ gib: 10 }, { gib: 6 }, { gib: 1 });
  const one = room();
  const { roster } = gpus[0]?.region.memory ?? {};
  const [asked, parking, still] = slots;
  if (!asked || !parking || !still) throw new Error("there are three slots");
  asked.parkAsked = asked.parkAnswered + 1;
  parking.parkState = parkStates.parking;
  one.look(gpus);
  expect(roster?.moving).toBe(0b11);
  asked.parkAnswered = asked.parkAsked;
  parking.parkState = parkStates.parked;
  still.parkState = parkStates.returning;
  one.look(gpus);
  expect(roster?.moving).toBe(0b100);
});

test("a service may have all of a client's movable memory, also while host memory is pinned for it", () => {
  const { gpus, slots, room, pass } = gpuWith({ gib: 8 });
  const [slot] = slots;
  const one = room();
  const takeable = () => {
    one.look(gpus);
    return (gpus[0]?.region.memory.roster.takeable ?? 0) / GiB;
  };
  if (!slot) throw new Error("no slot");
  for (const pinned of [0, 3, 6]) {
    slot.pinnedBytes = pinned * GiB;
    expect(takeable()).toBe(8);
    pass(1);
  }
  pass(3);
  expect(takeable()).toBe(6);
});

test("what is parked, or on its way, is no longer to be had", () => {
  const { gpus, slots, room } = gpuWith({ gib: 8 });
  const [slot] = slots;
  const one = room();
  if (!slot) throw new Error("no slot");
  slot.pinnedBytes = 8 * GiB;
  slot.parkedBytes = 5 * GiB;
  slot.parkAsked = 1;
  one.look(gpus);
  expect(gpus[0]?.region.memory.roster.takeable).toBe(3 * GiB);
});
