import type { GpuView, Series, TimelineView } from "./contract.ts";

export const shareNames = ["service", "bestEffort", "held"] as const;
export type ShareName = (typeof shareNames)[number];

const SECONDS_KEPT = 15 * 60;

export class SeriesStore {
  #timelines = new Map<string, TimelineView>();

  take(timelines: readonly TimelineView[]): void {
    this.#timelines = new Map(timelines.map((one) => [one.uuid, one]));
  }

  takeLatest({ uuid, latest }: GpuView): void {
    if (!latest) return;
    const known = this.#timelines.get(uuid);
    const empty: Series = { ...latest, service: [], bestEffort: [], held: [] };
    const second = known ? joined(known.second, latest) : latest;
    const minute = known?.minute ?? { ...empty, first: 0, period: 60_000 };
    this.#timelines.set(uuid, { uuid, second, minute });
  }

  of(uuid: string): TimelineView | undefined {
    return this.#timelines.get(uuid);
  }
}

/** The later one goes over the earlier one; what is missing between them is unknown. */
function joined(before: Series, after: Series): Series {
  const end = after.first + after.service.length;
  const first = Math.max(Math.min(before.first, after.first), end - SECONDS_KEPT);
  const values = (name: ShareName) =>
    Array.from({ length: end - first }, (_, i) => {
      const newer = after[name][first + i - after.first];
      return newer !== undefined ? newer : (before[name][first + i - before.first] ?? null);
    });
  return {
    first,
    // The newer clock counts: the older one may have been set since.
    from: after.from + (first - after.first) * after.period,
    period: after.period,
    service: values("service"),
    bestEffort: values("bestEffort"),
    held: values("held"),
  };
}

/** Times are in ms since 1970. It returns undefined where nothing is known. */
export function meanOf(series: Series, name: ShareName, from: number, until: number) {
  let [sum, count] = [0, 0];
  series[name].forEach((value, i) => {
    const at = series.from + i * series.period;
    if (value === null || at < from || at >= until) return;
    sum += value;
    count++;
  });
  return count === 0 ? undefined : sum / count;
}
