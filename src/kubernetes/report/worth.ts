import type { Api } from "../api/client.ts";
import { secondsIn, slowdownQuantile } from "../labels/slowdown.ts";
import type { SharingReport } from "../manager/worth/reports.ts";

export interface WorthOfNamespace {
  readonly week: string;
  readonly namespace: string;
  /** They are hours of a pod that has a GPU alone. */
  readonly recoveredGpuHours: number;
  readonly evictions: Readonly<Record<string, number>>;
  readonly services: readonly {
    readonly name: string;
    readonly sharedHours: number;
    /** Factors are not exceeded in half and 99 % of this time, rounded up to a step; 1 for none. */
    readonly slowdownP50: number;
    readonly slowdownP99: number;
  }[];
}

/** The newest week comes first. `namespace`: undefined for all. Rejects on a refusal. */
export async function worthOf(
  api: Api,
  namespace: string | undefined,
  weeks: number,
): Promise<readonly WorthOfNamespace[]> {
  const where = namespace === undefined ? "" : `/namespaces/${namespace}`;
  const { items } = await api.list<SharingReport>(
    `/apis/cotenant.io/v1alpha1${where}/sharingreports`,
  );
  const all = items.map(({ metadata, status }) => ({
    ...{ week: status.week, namespace: metadata.namespace ?? "" },
    recoveredGpuHours: status.recoveredGpuHours,
    evictions: status.evictions,
    services: status.services.map(({ name, slowdownSeconds }) => ({
      ...{ name, sharedHours: secondsIn(slowdownSeconds) / 3600 },
      slowdownP50: slowdownQuantile(slowdownSeconds, 0.5) ?? 1,
      slowdownP99: slowdownQuantile(slowdownSeconds, 0.99) ?? 1,
    })),
  }));
  const newest = [...new Set(all.map(({ week }) => week))].sort().reverse().slice(0, weeks);
  return all
    .filter(({ week }) => newest.includes(week))
    .sort((a, b) => b.week.localeCompare(a.week) || b.recoveredGpuHours - a.recoveredGpuHours);
}
