import { expect, test } from "vitest";
import type { Pairing, PairRow, SharingReport } from "#kubernetes";
import { demandsOf } from "./demands.ts";

const measured = (soloBusy: number | undefined, soloP50Us: number, unit: "burst" | "step") => ({
  ...{ retained: 0.6, by: "work" as const, seconds: 60, load: 0.2, others: 0 },
  ...{ policy: "cotenant", mode: "isolated", model: "H200" },
  ...(soloBusy !== undefined && { soloBusy }),
  service: { unit, perS: 60, p50Us: 2 * soloP50Us, p99Us: 9000, soloP50Us, soloP99Us: 8000 },
});
const names = { job: { workload: "j" }, service: { workload: "s" } };
const report = (at: string, of: PairRow["measured"]) =>
  ({ status: { pairs: [{ ...names, at, measured: of }] } }) as unknown as SharingReport;
const pairing = (at: string, of: PairRow["measured"]) =>
  ({ spec: { names }, status: { measured: { at, pair: of } } }) as unknown as Pairing;

test("the latest measurement says what a workload asks, and keeps what only an earlier one has", () => {
  const demands = demandsOf(
    [pairing("2026-01-03T00:00:00Z", measured(undefined, 4000, "burst"))],
    [
      report("2026-01-02T00:00:00Z", measured(0.7, 3000, "burst")),
      report("2026-01-01T00:00:00Z", measured(0.4, 2000, "burst")),
    ],
  );
  expect(demands.get("j")).toEqual({ busy: 0.7 });
  expect(demands.get("s")).toEqual({ requestMs: 4 });
});

test("steps of an engine are no requests, and kernels side by side are one GPU", () => {
  const demands = demandsOf([pairing("2026-01-03T00:00:00Z", measured(1.8, 4000, "step"))], []);
  expect(demands.get("j")).toEqual({ busy: 1 });
  expect(demands.has("s")).toBe(false);
});

test("a workload of which no pair was measured has what nodes have seen of it", () => {
  const seen = { class: "best-effort", model: "H200", seconds: 60, memoryBytes: 3e9 };
  const workloads = [
    { ...seen, workload: "alone", busy: 0.5, at: "2026-01-01T00:00:00Z" },
    { ...seen, workload: "j", busy: 0.5, at: "2026-01-01T00:00:00Z" },
    { ...seen, workload: "engine", unit: "step", p50Us: 9000, at: "2026-01-01T00:00:00Z" },
    { ...seen, workload: "web", unit: "burst", p50Us: 9000, at: "2026-01-01T00:00:00Z" },
  ];
  const report = { status: { workloads } } as unknown as SharingReport;
  const demands = demandsOf(
    [pairing("2026-01-03T00:00:00Z", measured(0.7, 4000, "burst"))],
    [report],
  );
  expect(demands.get("alone")).toEqual({ busy: 0.5, memoryBytes: 3e9 });
  expect(demands.get("j")).toEqual({ busy: 0.7, memoryBytes: 3e9 });
  expect(demands.get("engine")).toEqual({ memoryBytes: 3e9 });
  expect(demands.get("web")).toEqual({ memoryBytes: 3e9, requestMs: 9 });
});
