import { expect, test } from "vitest";
import { Explanations } from "./explain.ts";
import type { Wait } from "./matching/waiting.ts";
import type { Pod } from "./state/objects.ts";

const WALL = Date.parse("2026-11-27T00:00:00Z");
const created = (n: number) => new Date(WALL - 3_600_000 + 1000 * n).toISOString();

/** Pods that have waited for up to an hour, the last one the newest, each of a Job of its own. */
const waiting = (count: number): Pod[] =>
  Array.from({ length: count }, (_, n) => ({
    metadata: {
      ...{ name: `train-${n}`, namespace: "default", uid: `${n}`, resourceVersion: "1" },
      ...{ creationTimestamp: created(n % 3000) },
    },
    spec: { containers: [] },
    status: {},
  }));

/** Tells what is due in each interval, and returns the pods that were told and the number of writes of each. */
function tellFor(
  seconds: number,
  pods: Pod[],
  waitOf: (pod: Pod, now: number) => Omit<Wait, "pod">,
  intervalMs = 5000,
) {
  const explanations = new Explanations();
  const told: string[] = [];
  const writes: number[] = [];
  for (let now = 0; now < 1000 * seconds; now += intervalMs) {
    const waits = pods.map((pod) => ({ pod, ...waitOf(pod, now) }));
    let count = 0;
    for (const { pod, condition, hasEvent } of explanations.due(waits, now, WALL + now)) {
      explanations.told(pod, now);
      Object.assign(pods[Number(pod.metadata.uid)] ?? {}, { status: { conditions: [condition] } });
      told.push(pod.metadata.uid);
      count += hasEvent ? 2 : 1;
    }
    writes.push(count);
  }
  return { told, writes };
}

const counting = (_: Pod, now: number) => ({
  reason: "NoFreeGpu",
  message: `No GPU has a place: ${now} are too busy.`,
});

test("20,000 pods are told within five minutes, the newest first, each once, within the budget", () => {
  const { told, writes } = tellFor(300, waiting(20_000), counting, 15_000);
  expect([told.length, new Set(told).size]).toEqual([20_000, 20_000]);
  const ages = told.slice(0, 100).map((uid) => Number(uid) % 3000);
  expect(ages).toEqual([...ages].sort((a, b) => b - a));
  expect(Math.max(...writes) / 15).toBeLessThanOrEqual(85);
});

test("a reason that alternates is told less and less often", () => {
  const { told } = tellFor(1800, waiting(1), (_, now) => ({
    reason: now % 10_000 === 0 ? "NoFreeGpu" : "SchedulerBehind",
    message: "",
  }));
  // At once, then after 30 s, 60 s and so on: 30 (2^n - 1) s.
  expect(told.length).toBeLessThanOrEqual(8);
});

test("a pod whose turn comes later is not told again by which queue", () => {
  const { told } = tellFor(1800, waiting(1), (_, now) => ({
    reason: now % 10_000 === 0 ? "NextInterval" : "SchedulerBehind",
    message: "",
  }));
  expect(told.length).toBe(1);
});

test("pods that come all the time do not keep others from hearing of another reason", () => {
  const pods = waiting(1000);
  tellFor(60, pods.slice(0, 100), counting);
  const { told } = tellFor(10, pods, () => ({ reason: "Paused", message: "" }));
  expect(told.slice(0, 700).filter((uid) => Number(uid) < 100).length).toBeGreaterThan(80);
});

test("pods of one Job get one event, and each its condition", () => {
  const pods = waiting(30).map((pod) => ({
    ...pod,
    metadata: { ...pod.metadata, ownerReferences: [{ uid: "job", controller: true }] },
  }));
  const { told, writes } = tellFor(60, pods, counting);
  expect([told.length, writes.reduce((sum, n) => sum + n, 0)]).toEqual([30, 31]);
});

test("a slow API server is told pods for at most about half of the time", () => {
  const explanations = new Explanations();
  const waits = waiting(20_000).map((pod) => ({ pod, ...counting(pod, 0) }));
  // It takes 20 a second, and matching takes 20 s of each interval.
  let now = 0;
  const took: number[] = [];
  for (let interval = 0; interval < 10; interval++) {
    now += 20_000;
    const begin = now;
    for (const { pod } of explanations.due(waits, now, WALL + now)) {
      now += 50;
      explanations.told(pod, now);
    }
    took.push(now - begin);
  }
  // The first one knows nothing of the API server yet.
  for (const one of took.slice(1)) expect(one).toBeLessThanOrEqual(20_100);
  for (const one of took) expect(one).toBeGreaterThan(10_000);
});
