import { expect, test } from "vitest";
import type { Served } from "./plan.ts";
import { type Clock, closedLoop, openLoop, type Server } from "./serve.ts";

/** A clock that moves only when the program sleeps, serves or looks at it (1 ns, so that spinning ends). */
function world(serviceNs: (request: number) => number) {
  let now = 0;
  const clock: Clock = {
    now: () => now++,
    sleep: async (ms) => {
      now += Math.round(ms * 1e6);
    },
  };
  const log: string[] = [];
  const server: Server = {
    submit: (request) => void log.push(`submit ${request}`),
    wait(request) {
      log.push(`wait ${request}`);
      now += serviceNs(request);
    },
  };
  return { clock, server, log };
}

const never = { aborted: false };
const from = (beginMs: number, offsetsMs: readonly number[]) => ({
  begin: beginMs * 1e6,
  offsets: offsetsMs.map((offset) => offset * 1e6),
});
const ms = (ns: number) => Math.round(ns / 1e6);
const times = ({ arrival, start, done }: Served) => [ms(arrival), ms(start), ms(done)];

test("an open loop starts each request at its arrival, and late ones at once, in order", async () => {
  const { clock, server } = world((request) => (request === 0 ? 25e6 : 1e6));
  const served = await openLoop(server, clock, from(0, [10, 20, 30, 50]), never);
  expect(served.map(times)).toEqual([
    [10, 10, 35],
    [20, 35, 36],
    [30, 36, 37],
    [50, 50, 51],
  ]);
});

test("an open loop that is cut short finishes the request in flight and starts no other", async () => {
  const stop = { aborted: false };
  const { clock, server } = world((request) => {
    if (request === 1) stop.aborted = true;
    return 5e6;
  });
  const served = await openLoop(server, clock, from(0, [0, 1, 2, 90]), stop);
  expect(served.map(times)).toEqual([
    [0, 0, 5],
    [1, 5, 10],
  ]);
});

test("an open loop may begin in the future or in the past", async () => {
  const { clock, server } = world(() => 1e6);
  expect((await openLoop(server, clock, from(5, [0, 10]), never)).map(times)).toEqual([
    [5, 5, 6],
    [15, 15, 16],
  ]);
  expect((await openLoop(server, clock, from(10, [0]), never)).map(times)).toEqual([[10, 16, 17]]);
});

test("each request is announced ahead, or as soon as the one before is done", async () => {
  const { clock, server } = world((request) => (request === 1 ? 9.5e6 : 1e6));
  const announced: (readonly [number, number])[] = [];
  const ahead = {
    ns: 1e6,
    announce: (leftNs: number) => void announced.push([clock.now(), leftNs]),
  };
  const served = await openLoop(
    server,
    clock,
    { ...from(0, [10, 20, 30, 30]), ahead },
    { aborted: false },
  );
  expect(announced.map((times) => times.map((ns) => Math.round(ns / 1e5) / 10))).toEqual([
    [9, 1],
    [19, 1],
    [29.5, 0.5],
    [31, 0],
  ]);
  expect(served.map(times)).toEqual([
    [10, 10, 11],
    [20, 20, 30],
    [30, 30, 31],
    [30, 31, 32],
  ]);
});

test("a closed loop keeps its depth in flight and waits in order", async () => {
  const { clock, server, log } = world(() => 10e6);
  const served = await closedLoop(server, clock, 2, 0.025, never);
  expect(log).toEqual([
    "submit 0",
    "submit 1",
    ...["wait 0", "submit 2", "wait 1", "submit 3", "wait 2", "submit 4"],
    ...["wait 3", "wait 4"],
  ]);
  expect(served).toHaveLength(5);
  expect(served.every(({ arrival, start, done }) => arrival === start && done > start)).toBe(true);
});
