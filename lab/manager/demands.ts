// Demands of workloads without a profile, as agents have measured them.
import type { Pairing, PairRow, SharingReport } from "#kubernetes";

/** Figures of a workload by itself on its GPU; undefined: not measured. */
export interface MeasuredDemand {
  /** GPU time of a job's kernels a second, 0 to 1. */
  readonly busy?: number;
  /** Median duration of a service's bursts. */
  readonly requestMs?: number;
  /** The most memory that its pods had. */
  readonly memoryBytes?: number;
}

type Row = Pick<PairRow, "job" | "service" | "measured" | "at">;

type Observation = readonly [at: string, workload: string, demand: MeasuredDemand];

/**
 * By the workload's hash, from the latest row that has the figure: of a pair, or of what nodes have seen of the workload.
 * Rows of Pairings are newer than those of reports.
 */
export function demandsOf(
  pairings: Iterable<Pairing>,
  reports: Iterable<SharingReport>,
): ReadonlyMap<string, MeasuredDemand> {
  const all = [...reports].map(({ status }) => status);
  const seen = [
    ...all.flatMap((status) => (status?.workloads ?? []).map(seenIn)),
    ...[...all.flatMap((status) => status?.pairs ?? []), ...rowsOf(pairings)].flatMap(seenInPair),
  ];
  const demands = new Map<string, MeasuredDemand>();
  for (const [, workload, more] of seen.sort(([a], [b]) => a.localeCompare(b)))
    demands.set(workload, { ...demands.get(workload), ...more });
  return demands;
}

type WorkloadRow = NonNullable<SharingReport["status"]["workloads"]>[number];

/** A step of an engine is a part of a request. */
const seenIn = ({ at, workload, busy, memoryBytes, unit, p50Us }: WorkloadRow): Observation => [
  ...([at, workload] as const),
  {
    ...(memoryBytes > 0 && { memoryBytes }),
    ...(busy !== undefined && { busy }),
    ...(unit === "burst" && p50Us !== undefined && { requestMs: p50Us / 1000 }),
  },
];

const seenInPair = ({ job, service, measured, at }: Row): readonly Observation[] => {
  const { soloBusy, service: times } = measured;
  const demand = { busy: Math.min(1, soloBusy ?? 0) };
  return [
    ...(soloBusy === undefined ? [] : [[at, job.workload, demand] as const]),
    ...(times?.unit === "burst"
      ? [[at, service.workload, { requestMs: times.soloP50Us / 1000 }] as const]
      : []),
  ];
};

const rowsOf = (pairings: Iterable<Pairing>): readonly Row[] =>
  [...pairings].flatMap(({ spec: { names }, status }) => {
    const { pair: measured, at } = status?.measured ?? {};
    return names && measured && at !== undefined ? [{ ...names, measured, at }] : [];
  });
