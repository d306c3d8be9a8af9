// Rows of workloads outlive their pods, in the SharingReport of their namespace (decision 0052).
import type { WorkloadRow } from "../../labels/demand.ts";

export const MAX_WORKLOADS = 100;

export const workloadKey = ({ workload, model }: WorkloadRow): string => `${workload} ${model}`;

/** Where there are too many, those go that were not seen for longest. */
export function withWorkloads(
  before: readonly WorkloadRow[],
  changed: Iterable<WorkloadRow>,
): readonly WorkloadRow[] {
  const rows = new Map(before.map((row) => [workloadKey(row), row]));
  for (const row of changed) rows.set(workloadKey(row), row);
  return [...rows.values()]
    .sort((one, other) => one.at.localeCompare(other.at))
    .slice(-MAX_WORKLOADS);
}
