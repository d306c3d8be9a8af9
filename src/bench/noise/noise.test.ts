import { expect, test } from "vitest";
import type { Ratio } from "../result.ts";
import { watchCpu } from "./cpu.ts";
import { type Evidence, noiseOf } from "./noise.ts";

const ratio = (value: number, low: number, high: number): Ratio => ({
  value,
  low,
  high,
  rounds: [value],
});
const idle = { loadBefore: 0, stealShare: 0, waitShare: 0 };
const alone = (...values: number[]) => [{ what: "the p99 alone", values }];
const evidence = (more: Partial<Evidence>): Evidence => ({
  repeated: alone(10, 10.5, 9.9),
  judged: [],
  tolerance: 0.2,
  cpu: idle,
  ...more,
});

test("rounds alone that agree are quiet, whatever the CPUs did", () => {
  const { noisy, sentence } = noiseOf(evidence({ cpu: { ...idle, loadBefore: 3 } }));
  expect(noisy).toBe(false);
  expect(sentence).toBe(
    "Quiet enough to judge: what was measured alone differs by 6 % between rounds.",
  );
});

test("rounds alone that disagree by more than what is judged are noise, and the CPUs explain it", () => {
  const { noisy, sentence } = noiseOf(
    evidence({
      repeated: alone(10, 16.4),
      cpu: { loadBefore: 1.84, stealShare: 0.07, waitShare: 0.45 },
    }),
  );
  expect(noisy).toBe(true);
  expect(sentence).toBe(
    "Too noisy to judge: the p99 alone differs by 64 % between rounds; before it began 1.8 tasks per CPU wanted to run; " +
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

test("a hypervisor that takes much is noise by itself, and is named once", () => {
  const { noisy, sentence } = noiseOf(evidence({ cpu: { ...idle, stealShare: 0.3 } }));
  expect(noisy).toBe(true);
  expect(sentence).toBe(
    "Too noisy to judge: the hypervisor gave 30 % of the CPUs' time to other machines.",
  );
});

test("one round says nothing of noise", () => {
  const { noisy, spread, sentence } = noiseOf(evidence({ repeated: alone(10) }));
  expect([noisy, spread]).toEqual([false, undefined]);
  expect(sentence).toContain("Nothing was measured twice");
});

test("the CPUs' figures are differences of the kernel's counts, per CPU and per time", () => {
  const files = [
    { "/proc/stat": "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1", "/proc/loadavg": "0.00 1 1" },
    { "/proc/stat": "cpu  150 0 120 900 0 0 0 30 0 0\ncpu0 1", "/proc/loadavg": "9 9 9" },
  ];
  let at: Readonly<Record<string, string>> | undefined = files[0];
  const end = watchCpu((path) => at?.[path]);
  at = files[1];
  expect(end()).toEqual({ loadBefore: 0, stealShare: 30 / 200, waitShare: undefined });
  expect(watchCpu(() => undefined)()).toEqual({
    loadBefore: undefined,
    stealShare: undefined,
    waitShare: undefined,
  });
});
