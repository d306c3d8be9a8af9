// Demands of workloads without a profile, as agents have measured them in pairs.
import type { Pairing, PairRow, SharingReport } from "#kubernetes";

/** Figures of a workload by itself on its GPU; undefined: not measured. */
export interface MeasuredDemand {
  /** GPU time of a job's kernels a second, 0 to 1. */
  readonly busy?: number;
  /** Median duration of a service's bursts. */
  readonly requestMs?: number;
}

type Row = Pick<PairRow, "job" | "service" | "measured" | "at">;

/** By the workload's hash, from the latest row that has the figure. Rows of Pairings are newer than those of reports. */
export function demandsOf(
  pairings: Iterable<Pairing>,
  reports: Iterable<SharingReport>,
): ReadonlyMap<string, MeasuredDemand> {
  const rows = [...[...reports].flatMap(({ status }) => status?.pairs ?? []), ...rowsOf(pairings)];
  const demands = new Map<string, MeasuredDemand>();
  const add = (workload: string, more: MeasuredDemand) =>
    demands.set(workload, { ...demands.get(workload), ...more });
  for (const { job, service, measured } of rows.sort((a, b) => a.at.localeCompare(b.at))) {
    const { soloBusy, service: times } = measured;
    if (soloBusy !== undefined) add(job.workload, { busy: Math.min(1, soloBusy) });
    // A step of an engine is a part of a request.
    if (times?.unit === "burst") add(service.workload, { requestMs: times.soloP50Us / 1000 });
  }
  return demands;
}

const rowsOf = (pairings: Iterable<Pairing>): readonly Row[] =>
  [...pairings].flatMap(({ spec: { names }, status }) => {
    const { pair: measured, at } = status?.measured ?? {};
    return names && measured && at !== undefined ? [{ ...names, measured, at }] : [];
  });
