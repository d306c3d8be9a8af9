import { expect, test } from "vitest";
import type { GpuNode, Pod } from "../state/objects.ts";
import { Gains, noGain } from "./gains.ts";
import { sumOf, weekOf } from "./reports.ts";

const metadata = (name: string) => ({
  ...{ name, namespace: "prod", uid: name, resourceVersion: "1", creationTimestamp: "" },
});
const service: Pod = {
  metadata: { ...metadata("serve-1"), annotations: { "cotenant.io/class": "high" } },
  spec: { workload: "serve" },
  status: {},
};
const node = (gpuSeconds: number, slowdownSeconds: Record<string, number>): GpuNode => ({
  metadata: metadata("a"),
  status: {
    observedAt: "",
    gpus: [
      {
        ...{ uuid: "GPU-a", model: "", healthy: true, slots: 2, memoryBytes: 0, activeShare: 0 },
        ...{ podUid: "serve-1", slowdownSeconds },
        recovered: [{ podUid: "t", namespace: "research", gpuSeconds }],
      },
    ],
  },
});

test("counters count from the first sample on, and begin again where they are smaller", () => {
  const gains = new Gains();
  for (const one of [node(50, { "1": 40 }), node(60, { "1": 45, "2": 5 }), node(3, { "1": 2 })])
    gains.observe([one], [service], []);
  const all = gains.take();
  expect(all.get("research")?.gpuSeconds).toBe(13);
  expect([...(all.get("prod")?.services.get("serve") ?? [])]).toEqual([
    ["1", 7],
    ["2", 5],
  ]);
  expect(gains.take().size).toBe(0);
});

test("an eviction counts once, whoever does it, and those before the first sample not at all", () => {
  const gone = (name: string, isDisrupted: boolean): Pod => ({
    metadata: { ...metadata(name), annotations: { "cotenant.io/class": "best-effort" } },
    spec: {},
    status: { conditions: [{ type: "DisruptionTarget", status: isDisrupted ? "True" : "False" }] },
  });
  const gains = new Gains();
  gains.observe([], [gone("before", true)], []);
  gains.evicted(gone("ours", false), "move");
  gains.observe([], [gone("before", true), gone("ours", false), gone("runs", false)], []);
  for (let n = 0; n < 2; n++)
    gains.observe([], [gone("ours", true), gone("drained", true), gone("runs", false)], []);
  expect([...(gains.take().get("prod")?.evictions ?? [])]).toEqual([
    ["move", 1],
    ["other", 1],
  ]);
});

test.each([
  ["2026-11-30T00:00:00Z", "2026-W49"],
  ["2026-11-29T23:59:59Z", "2026-W48"],
  ["2027-01-03T12:00:00Z", "2026-W53"],
  ["2027-01-04T00:00:00Z", "2027-W01"],
  ["2024-12-30T00:00:00Z", "2025-W01"],
])("%s is in the week %s", (time, week) => {
  expect(weekOf(Date.parse(time))).toBe(week);
});

test("a report has at most 100 services, and further ones are counted together", () => {
  const services = new Map(
    Array.from({ length: 300 }, (_, n) => [`serve-${n}`, new Map([["1", 10]])]),
  );
  const gain = { ...noGain(), gpuSeconds: 1800, evictions: new Map([["drain", 2]]), services };
  const once = sumOf(undefined, gain, "2026-W48", "1");
  const twice = sumOf(once, gain, "2026-W48", "2");
  expect(twice).toMatchObject({ recoveredGpuHours: 1, evictions: { drain: 4 } });
  expect(twice.services).toHaveLength(100);
  expect(twice.services.at(-1)).toEqual({ name: "others", slowdownSeconds: { "1": 4020 } });
});
