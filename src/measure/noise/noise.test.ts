import { expect, test } from "vitest";
import type { Ratio } from "../figures/stats.ts";
import { watchCpu } from "./cpu.ts";
import { type Evidence, noiseOf } from "./noise.ts";

const ratio = (value: number, low: number, high: number): Ratio => ({
  value,
  low,
  high,
  rounds: [value],
});
const idle = { busyBefore: 0, stealShare: 0, waitShare: 0 };
const alone = (...values: number[]) => [{ what: "the p99 alone", values }];
const evidence = (more: Partial<Evidence>): Evidence => ({
  repeated: alone(10, 10.5, 9.9),
  judged: [],
  tolerance: 0.2,
  cpu: idle,
  ...more,
});

test("rounds alone that agree are quiet, though other programs used some of the CPUs' time", () => {
  const { noisy, sentence } = noiseOf(
    evidence({ cpu: { busyBefore: 0.4, stealShare: 0.05, waitShare: 0.9 } }),
  );
  expect(noisy).toBe(false);
  expect(sentence).toBe(
    "Quiet enough to judge: what was measured alone differs by 6 % between rounds.",
  );
});

test("rounds alone that disagree by more than what is judged are noise, and the CPUs explain it", () => {
  const { noisy, sentence } = noiseOf(
    evidence({
      repeated: alone(10, 16.4),
      cpu: { busyBefore: 0.43, stealShare: 0.07, waitShare: 0.45 },
    }),
  );
  expect(noisy).toBe(true);
  expect(sentence).toBe(
    "Too noisy to judge: the p99 alone differs by 64 % between rounds; before it began other programs used 43 % of the CPUs' time; " +
      "the hypervisor gave 7 % of the CPUs' time to other machines; tasks waited for a CPU in 45 % of the time.",
  );
});

test("a larger tolerance accepts the same rounds", () => {
  expect(noiseOf(evidence({ repeated: alone(10, 16.4), tolerance: 0.7 })).noisy).toBe(false);
});

test("an interval wider than its effect is noise, one around a large effect is not", () => {
  const narrow = { name: "time slicing", p99: ratio(5, 3.5, 6) };
  const wide = { name: "Cotenant", p99: ratio(1.1, 0.9, 1.4) };
  expect(noiseOf(evidence({ judged: [narrow] })).noisy).toBe(false);
  expect(noiseOf(evidence({ judged: [narrow, wide] })).sentence).toBe(
    "Too noisy to judge: as a ratio to that alone the p99 is only known to be 0.90 to 1.40 (Cotenant).",
  );
});

test.each([
  [{ ...idle, stealShare: 0.3 }, "the hypervisor gave 30 % of the CPUs' time to other machines"],
  [{ ...idle, busyBefore: 0.9 }, "before it began other programs used 90 % of the CPUs' time"],
])("a machine that others use much is noise by itself, and is named once: %o", (cpu, why) => {
  const { noisy, sentence } = noiseOf(evidence({ cpu }));
  expect(noisy).toBe(true);
  expect(sentence).toBe(`Too noisy to judge: ${why}.`);
});

test("one round says nothing of noise", () => {
  const { noisy, spread, sentence } = noiseOf(evidence({ repeated: alone(10) }));
  expect([noisy, spread]).toEqual([false, undefined]);
  expect(sentence).toContain("Nothing was measured twice");
});

test("the CPUs' figures are differences of the kernel's counts, before it began and since", async () => {
  const stats = [
    "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1",
    "cpu  130 0 100 760 110 0 0 0 0 0\ncpu0 1",
    "cpu  180 0 120 860 110 0 0 30 0 0\ncpu0 1",
  ];
  const end = await watchCpu((path) => (path === "/proc/stat" ? stats.shift() : undefined));
  expect(end()).toEqual({ busyBefore: 0.3, stealShare: 30 / 200, waitShare: undefined });
  const unknown = { busyBefore: undefined, stealShare: undefined, waitShare: undefined };
  expect((await watchCpu(() => undefined))()).toEqual(unknown);
});
