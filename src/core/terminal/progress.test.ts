import { expect, test } from "vitest";
import { leftOf, leftText, progressOf } from "./progress.ts";

function place(isTTY: boolean, columns = 80) {
  const written: string[] = [];
  return { isTTY, columns, written, write: (text: string) => void written.push(text) };
}

test("away from a terminal each step is a line, and nothing is removed", () => {
  const log: string[] = [];
  const progress = progressOf("bench", place(false), undefined, (line) => log.push(line));
  progress.step("round 1 of 3", 60);
  progress.note("a job failed");
  progress.end();
  expect(log).toEqual(["bench: round 1 of 3", "bench: a job failed"]);
});

test("on a terminal a step replaces the line before and says how much time is left", () => {
  const screen = place(true);
  const progress = progressOf("bench", screen, () => 0);
  progress.step("round 1 of 3", 58);
  progress.step("round 2 of 3", 100);
  progress.note("a job failed");
  progress.end();
  expect(screen.written).toEqual([
    "\r\x1b[Kbench: round 1 of 3, about 60 s left",
    "\r\x1b[Kbench: round 2 of 3, about 2 min left",
    "\r\x1b[Kbench: a job failed\n",
    "\r\x1b[Kbench: round 2 of 3, about 2 min left",
    "\r\x1b[K",
  ]);
});

test("work of less than five seconds says nothing of its end", () => {
  const screen = place(true);
  progressOf("demo", screen, () => 0).step("alone", 4);
  expect(screen.written).toEqual(["\r\x1b[Kdemo: alone"]);
});

test("a line is cut to what the terminal holds, so that it stays one line", () => {
  const screen = place(true, 12);
  progressOf("demo", screen, () => 0).step("a long step");
  expect(screen.written).toEqual(["\r\x1b[Kdemo: a lo…"]);
});

test("time left is rounded as it is known, and follows from what is done", () => {
  expect([3, 41, 89, 150].map(leftText)).toEqual([
    "almost done",
    "about 45 s left",
    "about 90 s left",
    "about 3 min left",
  ]);
  let now = 0;
  const left = leftOf(4, () => now);
  now = 10_000;
  expect([left(0), left(1), left(4)]).toEqual([undefined, 30, 0]);
});
