// The position of a value in a panel.

export interface Scale {
  /** Values above the top are placed at the top. */
  readonly at: (value: number) => number;
  readonly top: number;
  readonly ticks: readonly number[];
}

/** From 0 to 1, or to the next tenth above the largest value. */
export function shareScale(values: readonly number[], from: number, to: number): Scale {
  const top = Math.ceil(Math.max(1, ...values) * 10 - 1e-9) / 10;
  return {
    at: (value) => from + (value / top) * (to - from),
    top,
    ticks: [0, 0.25, 0.5, 0.75, 1],
  };
}

/** From the finest to the coarsest. Each contains 1, which every chart of ratios shows. */
const mantissas = [
  [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7],
  [1, 1.5, 2, 3, 5, 7],
  [1, 1.5, 2, 3, 5],
  [1, 2, 5],
  [1, 3],
  [1],
];

/** With a larger scale, values near 1 could not be distinguished. */
const MAX_RATIO = 10;

/** From 1 to at least 2, so that a small slowdown does not look large, and to at most 10. */
export function ratioScale(
  values: readonly number[],
  from: number,
  to: number,
  leastGap: number,
): Scale {
  const low = Math.log10(Math.min(1, ...values) / 1.06);
  const top = Math.min(Math.max(2, ...values), MAX_RATIO) * 1.06;
  const high = Math.log10(top);
  const at = (value: number) =>
    from + ((Math.log10(Math.min(value, top)) - low) / (high - low)) * (to - from);
  const decades = Array.from(
    { length: Math.floor(high) - Math.floor(low) + 1 },
    (_, i) => Math.floor(low) + i,
  );
  const ticksOf = (steps: readonly number[]) =>
    decades
      .flatMap((decade) => steps.map((step) => Number((step * 10 ** decade).toPrecision(3))))
      .filter((value) => Math.log10(value) >= low && Math.log10(value) <= high);
  const fits = (ticks: readonly number[]) =>
    ticks.every((tick, i) => i === 0 || Math.abs(at(tick) - at(ticks[i - 1] ?? 0)) >= leastGap);
  const sets = mantissas.map(ticksOf);
  return { at, top, ticks: sets.find(fits) ?? [1] };
}
