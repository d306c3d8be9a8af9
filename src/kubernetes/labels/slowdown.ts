/** These are upper bounds; the last one also has all that is above. */
export const SLOWDOWN_STEPS: readonly number[] = [
  1, 1.01, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.75, 2, 3, 5, 10, 100,
];

export type SlowdownSeconds = Readonly<Record<string, number>>;

export const slowdownStep = (factor: number): string =>
  String(SLOWDOWN_STEPS.find((step) => factor <= step + 1e-9) ?? SLOWDOWN_STEPS.at(-1));

/** Returns the upper bound of the step that is not exceeded in a part of the time, 0 to 1. */
export function slowdownQuantile(seconds: SlowdownSeconds, part: number): number | undefined {
  const total = secondsIn(seconds);
  let sum = 0;
  for (const step of SLOWDOWN_STEPS) {
    sum += seconds[step] ?? 0;
    if (sum > 0 && sum >= part * total - 1e-9) return step;
  }
  return undefined;
}

export const secondsIn = (seconds: SlowdownSeconds): number =>
  SLOWDOWN_STEPS.reduce((sum, step) => sum + (seconds[step] ?? 0), 0);
