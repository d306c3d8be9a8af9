import { expect, test } from "vitest";
import type { ObservedClient } from "../../labels/demand.ts";
import type { GpuNode, Pod } from "../state/objects.ts";
import { WorkloadDemands } from "./demands.ts";
import { MAX_WORKLOADS, withWorkloads } from "./workload-rows.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const MINUTE = 60_000;
const GIB = 2 ** 30;

function pod(uid: string, image: string, nodeName = "a", labels: Record<string, string> = {}): Pod {
  return {
    metadata: {
      ...{ name: `train-${uid}`, namespace: "research", uid, resourceVersion: "1", labels },
      ...{ creationTimestamp: "", annotations: { "cotenant.io/class": "best-effort" } },
      ownerReferences: [{ uid: `job of ${uid}`, controller: true }],
    },
    spec: { nodeName, containers: [{ image, args: ["--train"] }] },
    status: { phase: "Running" },
  };
}

const node = (name: string, clients: readonly ObservedClient[], minutes = 0): GpuNode => ({
  metadata: { name, uid: name, resourceVersion: "1", creationTimestamp: "" },
  status: {
    observedAt: new Date(NOW + minutes * MINUTE).toISOString(),
    gpus: [
      {
        ...{ uuid: `GPU-${name}`, model: "H200", healthy: true, slots: 2 },
        ...{ memoryBytes: 40 * GIB, activeShare: 0.3, clients },
      },
    ],
  },
});
const client = (podUid: string, busy: number | undefined, memoryBytes = GIB): ObservedClient => ({
  ...{ podUid, seconds: 60, memoryBytes },
  ...(busy !== undefined && { busy }),
});
const rowsOf = (demands: WorkloadDemands, one: GpuNode, pods: readonly Pod[], minutes = 0) =>
  demands.observe([one], pods, NOW + minutes * MINUTE).get("research") ?? [];

test("a workload that was seen once is known when it comes again, elsewhere and with other labels", () => {
  const demands = new WorkloadDemands();
  const rows = rowsOf(demands, node("a", [client("1", 0.4, 3 * GIB)]), [pod("1", "bert")]);
  expect(rows).toMatchObject([
    { class: "best-effort", model: "H200", busy: 0.4, memoryBytes: 3 * GIB },
  ]);
  const [{ workload } = { workload: "" }] = rows;
  // Another manager reads the reports.
  const next = new WorkloadDemands();
  next.recall(rows);
  expect([next.knows(workload), next.busyOf(workload, "H200")]).toEqual([true, 0.4]);
  expect(next.busyOf(workload, "A100")).toBeUndefined();
  // Its next pod has not shown its demand yet.
  const again = pod("2", "bert", "b", { team: "other" });
  expect(rowsOf(next, node("b", [client("2", undefined)], 1), [again], 1)).toEqual([]);
  expect(next.busyOf(workload, "H200")).toBe(0.4);
});

test("a row is written again if it has changed, each twenty minutes at most, and each week", () => {
  const demands = new WorkloadDemands();
  const pods = [pod("1", "bert")];
  const written = (busy: number, minutes: number) =>
    rowsOf(demands, node("a", [client("1", busy)], minutes), pods, minutes).length;
  expect(written(0.4, 0)).toBe(1);
  expect(written(0.6, 19)).toBe(0);
  expect(written(0.6, 20)).toBe(1);
  expect(written(0.62, 60)).toBe(0);
  expect(written(0.62, 20 + 7 * 24 * 60)).toBe(1);
});

test("a node says nothing of pods of another node", () => {
  const demands = new WorkloadDemands();
  expect(rowsOf(demands, node("b", [client("1", 0.1)]), [pod("1", "bert", "a")])).toEqual([]);
});

test("an older row of a report does not replace what was seen since", () => {
  const demands = new WorkloadDemands();
  const [row] = rowsOf(demands, node("a", [client("1", 0.4)]), [pod("1", "bert")]);
  if (row === undefined) throw new Error("there is no row");
  demands.recall([{ ...row, busy: 0.9, at: "2026-02-01T00:00:00Z" }]);
  expect(demands.busyOf(row.workload, "H200")).toBe(0.4);
  demands.recall([{ ...row, busy: 0.9, at: "2026-04-01T00:00:00Z" }]);
  expect(demands.busyOf(row.workload, "H200")).toBe(0.9);
});

test("a report keeps the workloads that were seen last", () => {
  const demands = new WorkloadDemands();
  const rows = Array.from({ length: MAX_WORKLOADS + 1 }, (_, i) =>
    rowsOf(demands, node("a", [client("1", 0.4)], i), [pod("1", `image-${i}`)], i),
  ).flat();
  const kept = withWorkloads(rows.slice(1), rows.slice(0, 1));
  expect([rows.length, kept.length]).toEqual([MAX_WORKLOADS + 1, MAX_WORKLOADS]);
  expect(kept).not.toContainEqual(rows[0]);
  const [second] = kept;
  if (second) expect(withWorkloads(kept, [{ ...second, busy: 0.7 }])).toHaveLength(MAX_WORKLOADS);
});
