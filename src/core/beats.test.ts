import { expect, test, vi } from "vitest";
import { Beats } from "./beats.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("what falls together runs at one wakeup", async () => {
  const beats = new Beats();
  const ran: [name: string, wakeup: number][] = [];
  let wakeup = 0;
  const note = (name: string) => () => {
    if (ran.length === 0 || ran.at(-1)?.[1] !== wakeup) queueMicrotask(() => wakeup++);
    ran.push([name, wakeup]);
  };
  const ends = [beats.every(40, note("short")), beats.every(80, note("long"))];
  await pause(500);
  for (const end of ends) end();
  const of = (name: string) => ran.filter(([one]) => one === name).map(([, at]) => at);
  expect(of("long").length).toBeGreaterThan(0);
  expect(of("short")).toEqual(expect.arrayContaining(of("long")));
});

test("nothing runs before its time, and nothing after its end", async () => {
  const beats = new Beats();
  const at: number[] = [];
  const end = beats.every(30, () => at.push(performance.now()));
  await pause(300);
  end();
  const { length } = at;
  expect(length).toBeGreaterThan(0);
  expect(length).toBeLessThanOrEqual(11);
  await pause(100);
  expect(at).toHaveLength(length);
});

test("one that ends another, or itself, leaves the rest going", async () => {
  const beats = new Beats();
  const ran: string[] = [];
  const ends = {
    first: beats.every(20, () => {
      ran.push("first");
      ends.first();
      ends.second();
    }),
    second: beats.every(20, () => ran.push("second")),
  };
  const third = beats.every(20, () => ran.push("third"));
  while (ran.filter((name) => name === "third").length < 3) await pause(5);
  third();
  expect(ran.filter((name) => name !== "third")).toEqual(["first"]);
});

test("without anything to run the process can end", () => {
  const before = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const beats = new Beats();
  const ends = [beats.every(1000, () => {}), beats.every(500, () => {})];
  for (const end of ends) end();
  const after = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  expect(after).toBe(before);
});

test("a beat that is overdue is planned for now: Node warns of a negative delay", async () => {
  const timers = vi.spyOn(globalThis, "setTimeout");
  const beats = new Beats();
  const late = () => {
    for (const until = performance.now() + 30; performance.now() < until; );
  };
  const ends = [beats.every(10, late), beats.every(11, late)];
  await pause(200);
  for (const end of ends) end();
  const delays = timers.mock.calls.map(([, delay = 0]) => delay);
  timers.mockRestore();
  expect(delays.length).toBeGreaterThan(1);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
});
