// A service's activity is "smooth in minutes and periodical in days" (MuxFlow, section 2.2).

export interface DailyForecast {
  /** `at` is in seconds since any midnight. Times must not go back. A value of NaN is ignored. */
  observe(at: number, value: number): void;
  /** `until` is in seconds. It returns undefined before the first observation. */
  peak(until: number): number | undefined;
}

const DAY = 86_400;
const NEWEST = 1 / 3;
const TODAY_SECONDS = 1_800;
const TODAY_MOST = 2;

export function dailyForecast(bin = 300): DailyForecast {
  const bins = Math.round(DAY / bin);
  const curve = new Float64Array(bins).fill(Number.NaN);
  const today = { bin: -1, sum: 0, count: 0 };
  // They average exponentially the observed values, and the curve's values at those times.
  let recent = Number.NaN;
  let recalled = Number.NaN;
  let now = 0;
  const binAt = (at: number): number => Math.floor((at % DAY) / bin) % bins;
  const close = () => {
    if (today.count === 0) return;
    const mean = today.sum / today.count;
    const before = curve[today.bin] ?? Number.NaN;
    curve[today.bin] = Number.isNaN(before) ? mean : before + NEWEST * (mean - before);
  };
  return {
    observe(at, value) {
      if (Number.isNaN(value)) return;
      const here = binAt(at);
      const weight = Number.isNaN(recent) ? 1 : 1 - Math.exp(-(at - now) / TODAY_SECONDS);
      const known = curve[here] ?? Number.NaN;
      recent = Number.isNaN(recent) ? value : recent + weight * (value - recent);
      if (!Number.isNaN(known))
        recalled = Number.isNaN(recalled) ? known : recalled + weight * (known - recalled);
      if (here !== today.bin) {
        close();
        Object.assign(today, { bin: here, sum: 0, count: 0 });
      }
      today.sum += value;
      today.count++;
      now = at;
    },
    peak(until) {
      if (Number.isNaN(recent)) return undefined;
      const ratio = recalled > 0 ? Math.min(TODAY_MOST, recent / recalled) : 1;
      let peak = today.sum / today.count;
      for (let at = now + bin; at < until + bin; at += bin) {
        const known = curve[binAt(Math.min(at, until))] ?? Number.NaN;
        if (!Number.isNaN(known)) peak = Math.max(peak, known * ratio);
      }
      return peak;
    },
  };
}
