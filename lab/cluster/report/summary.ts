// The figures that tables show, for a scheduler over all seeds: mean, and ± the standard deviation over seeds.
import type { Figures } from "../model/figures.ts";

interface Column {
  readonly title: string;
  of(seeds: readonly Figures[]): string;
  /** A number of which the largest is the best; undefined without jobs, or where no value is better than another. */
  merit(seeds: readonly Figures[]): number | undefined;
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, one) => sum + one, 0) / Math.max(1, values.length);

export function deviation(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(
    values.reduce((sum, one) => sum + (one - middle) ** 2, 0) / Math.max(1, values.length - 1),
  );
}

const column = (
  title: string,
  value: (figures: Figures) => number,
  format: (value: number) => string,
  { needsJobs = false, better }: { needsJobs?: boolean; better?: "less" | "more" } = {},
): Column => ({
  title,
  merit(seeds) {
    // A scheduler that starts no job disturbs nobody, so it is not compared.
    if (better === undefined || seeds.every(({ finished }) => finished === 0)) return undefined;
    const average = mean(seeds.map(value));
    return better === "less" ? -average : average;
  },
  of(seeds) {
    if (needsJobs && seeds.every(({ finished }) => finished === 0)) return "-";
    const values = seeds.map(value);
    const spread = deviation(values);
    return seeds.length > 1 ? `${format(mean(values))} ±${format(spread)}` : format(mean(values));
  },
});

const ratio = (value: number): string => value.toFixed(3);
const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
const minutes = (seconds: number): string => (seconds / 60).toFixed(1);
const hours = (seconds: number): string => (seconds / 3600).toFixed(1);
const whole = (value: number): string => String(Math.round(value));

const less = { better: "less" } as const;
const lessOfJobs = { needsJobs: true, better: "less" } as const;
const moreOfJobs = { needsJobs: true, better: "more" } as const;

export const columns: readonly Column[] = [
  column("mean slowdown", (one) => one.meanSlowdown, ratio, less),
  column("p99 slowdown", (one) => one.p99Slowdown, ratio, less),
  column("mean JCT, min", (one) => one.jctMean, minutes, lessOfJobs),
  column("p95 JCT, min", (one) => one.jctP95, minutes, lessOfJobs),
  column("makespan, h", (one) => one.makespan, hours, lessOfJobs),
  column("oversold", (one) => one.oversold, ratio, moreOfJobs),
  column("GPU util.", (one) => one.busy, percent),
  column("SM act.", (one) => one.activity, percent),
  column("memory", (one) => one.memory, percent),
  column("moves", (one) => one.moves, whole, less),
  column("evicted", (one) => one.evictions, whole, less),
  column("GPU-hours saved", (one) => one.savedGpuHours, whole, moreOfJobs),
  column("worth, $", (one) => one.savedDollars, whole, moreOfJobs),
];

export const levelTitles = ["priority", "jobs", "mean JCT, min", "mean wait, min"] as const;

/** Rows of one scheduler over all seeds, one for each priority; none where all jobs have the same. */
export function levelRows(seeds: readonly Figures[]): readonly (readonly string[])[] {
  const levels = seeds[0]?.byPriority ?? [];
  if (levels.length < 2) return [];
  return levels.map(({ priority, jobs }) => {
    const own = seeds.flatMap(({ byPriority }) =>
      byPriority.filter((one) => one.priority === priority),
    );
    return [
      String(priority),
      String(jobs),
      minutes(mean(own.map(({ jctMean }) => jctMean))),
      minutes(mean(own.map(({ waitingMean }) => waitingMean))),
    ];
  });
}
