// The charts of a run: over the day, and of completion times.
import { quantile } from "#core";
import type { Figures } from "../model/figures.ts";
import type { Chart, Curve } from "./chart.ts";
import type { Looks } from "./colours.ts";
import { mean } from "./summary.ts";

type Point = Figures["series"][number];

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
const count = (value: number): string => String(Number(value.toFixed(1)));
const ratio = (value: number): string => value.toFixed(3);

export function chartsOf(runs: readonly Figures[], looks: Looks, hours: number): readonly Chart[] {
  const over = (
    of: (point: Point) => number,
    format: (value: number) => string,
    chart: Pick<Chart, "title" | "y" | "from" | "atLeast">,
    until = hours,
  ): Chart => {
    const longest = runs.reduce<readonly Point[]>(
      (a, { series }) => (series.length > a.length ? series : a),
      [],
    );
    const xs = longest.map(({ hour }) => hour).filter((hour) => hour < until);
    // After its last job a run has nothing to show but 0; one that never ended has no more points.
    const seen = runs.map(({ scheduler, series, finished, jobs }) => ({
      scheduler,
      values: (finished < jobs ? xs.slice(0, series.length) : xs).map((_, i) =>
        series[i] ? of(series[i]) : 0,
      ),
    }));
    return {
      ...chart,
      x: "hours since the start",
      pointName: (hour) => `hour ${hour}`,
      xs,
      xTicks: hourTicks(xs.at(-1) ?? 0),
      format,
      summaryName: until === hours ? "Means over the day" : "Means over the run",
      curves: seen.flatMap(({ scheduler, values }) => {
        const look = looks.get(scheduler);
        return look ? [{ name: scheduler, look, values, summary: format(mean(values)) }] : [];
      }),
    };
  };
  return [
    over((one) => one.slowdown, ratio, {
      title: "How much longer do requests take?",
      y: "Mean latency of requests / alone",
      from: 1,
      atLeast: 1.05,
    }),
    over((one) => one.p99Slowdown, ratio, {
      title: "How much longer do the slowest requests take?",
      y: "p99 latency / alone, of each quarter of an hour",
      from: 1,
      atLeast: 1.05,
    }),
    over(
      (one) => one.throughput,
      count,
      {
        title: "How much training work is done?",
        y: "Retained throughput of all trainings, in GPUs of their own",
        from: 0,
      },
      Number.POSITIVE_INFINITY,
    ),
    over(
      (one) => one.waiting,
      count,
      { title: "How many jobs wait?", y: "Number of jobs", from: 0 },
      Number.POSITIVE_INFINITY,
    ),
    over((one) => one.busy, percent, {
      title: "How much of the time do GPUs work?",
      y: "GPU utilisation",
      from: 0,
      atLeast: 1,
    }),
    over((one) => one.activity, percent, {
      title: "How many of their SMs work?",
      y: "SM activity",
      from: 0,
      atLeast: 0.5,
    }),
    over((one) => one.memory, percent, {
      title: "How full is the memory of the GPUs?",
      y: "GPU memory in use",
      from: 0,
      atLeast: 0.5,
    }),
    completionTimes(runs, looks),
  ];
}

/** At most nine. */
function hourTicks(end: number): number[] {
  const step = [0.25, 0.5, 1, 2, 4, 6, 12, 24, 48].find((one) => end / one <= 8) ?? end / 8;
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, i) => i * step);
}

const POINTS = 120;

/** The same completion times for all schedulers, evenly spaced on a logarithmic axis. */
function completionTimes(runs: readonly Figures[], looks: Looks): Chart {
  const shown = runs.filter(({ finished }) => finished > 0);
  const all = shown.flatMap(({ jcts }) => jcts.map((jct) => Math.max(0.1, jct / 60)));
  const [low, high] = [
    Math.log10(all.reduce((a, b) => Math.min(a, b), 1000)),
    Math.log10(all.reduce((a, b) => Math.max(a, b), 1)),
  ];
  const xs =
    all.length === 0
      ? []
      : Array.from({ length: POINTS + 1 }, (_, i) => 10 ** (low + ((high - low) * i) / POINTS));
  const curves = shown.flatMap(({ scheduler, jcts }): Curve[] => {
    const look = looks.get(scheduler);
    const values = xs.map((x) => shareUpTo(jcts, 60 * x * (1 + 1e-9)));
    const summary = `${minutes(quantile(jcts, 0.5) / 60)} min`;
    return look ? [{ name: scheduler, look, values, summary }] : [];
  });
  return {
    title: "How soon are jobs done?",
    y: "Jobs done",
    x: "completion time in minutes (log)",
    pointName: (x) => `${minutes(x)} min`,
    xs,
    xTicks: [0.1, 1, 10, 100, 1000, 10_000].filter(
      (tick) => Math.log10(tick) >= low && Math.log10(tick) <= high,
    ),
    logarithmic: true,
    curves,
    format: percent,
    from: 0,
    atLeast: 1,
    summaryName: "Half of the jobs are done within",
    finding: soonest(shown),
  };
}

function soonest(runs: readonly Figures[]): string {
  const halves = runs
    .map(({ scheduler, jcts }) => ({ scheduler, half: quantile(jcts, 0.5) / 60 }))
    .sort((a, b) => a.half - b.half);
  const [first, last] = [halves[0], halves.at(-1)];
  if (!first || !last) return "No job is done.";
  const text = `Half of the jobs are done within ${minutes(first.half)} min with ${first.scheduler}`;
  return first === last
    ? `${text}.`
    : `${text}, within ${minutes(last.half)} min with ${last.scheduler}.`;
}

const minutes = (value: number): string => String(Number(value.toPrecision(3)));

/** The part of rising values that is not above `limit`. */
function shareUpTo(rising: readonly number[], limit: number): number {
  let [low, high] = [0, rising.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rising[middle] ?? 0) <= limit) low = middle + 1;
    else high = middle;
  }
  return low / Math.max(1, rising.length);
}
