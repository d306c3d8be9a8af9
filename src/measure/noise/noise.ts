// Whether a machine was quiet enough for what was measured on it. `bench`, `demo` and `try` ask here, so that no table is
// printed without saying so.

/** Other activity on the machine during a measurement. */
export interface CpuNoise {
  /** The part of all CPUs' time that others used before it began; undefined where the kernel does not say. */
  readonly busyBefore: number | undefined;
  /** The part of all CPUs' time that the hypervisor gave to others. */
  readonly stealShare: number | undefined;
  /** The part of the time in which some task waited for a CPU. */
  readonly waitShare: number | undefined;
}

interface Judged {
  readonly name: string;
  /** A p99 as a ratio to that alone, with its interval. */
  readonly p99: { readonly value: number; readonly low: number; readonly high: number };
}

/** One thing that was measured several times, and that nothing should have changed. */
interface Repeated {
  /** "the p99 alone" */
  readonly what: string;
  readonly values: readonly number[];
}

export interface Evidence {
  readonly repeated: readonly Repeated[];
  /** The ratios that will be judged, with their intervals. */
  readonly judged: readonly Judged[];
  /** A smaller difference is not judged: 0.2 for 20 %. */
  readonly tolerance: number;
  readonly cpu: CpuNoise;
}

export interface Noise {
  readonly noisy: boolean;
  /** The worst spread of repeated figures: the largest value / the smallest - 1; undefined if nothing was repeated. */
  readonly spread: number | undefined;
  readonly cpu: CpuNoise;
  /** For people. */
  readonly sentence: string;
}

/** Above these a figure of the CPUs explains noise that was seen. */
const MIN_SHARES = { steal: 0.01, busy: 0.2, waiting: 0.2 } as const;
/** Above these it is noise by itself. That tasks wait for a CPU is not, because those that are measured may do so. */
const MUCH = { steal: 0.1, busy: 0.5 } as const;

export function noiseOf({ repeated, judged, tolerance, cpu }: Evidence): Noise {
  const spreads = repeated.flatMap(({ what, values }) => {
    const spread = spreadOf(values);
    return spread === undefined ? [] : [{ what, spread }];
  });
  const wide = judged.filter(({ p99 }) => isTooWide(p99, tolerance));
  const signs = [
    ...spreads
      .filter(({ spread }) => spread > tolerance)
      .map(({ what, spread }) => `${what} differs by ${percent(spread)} between rounds`),
    wide.length > 0 &&
      `as a ratio to that alone the p99 is only known to be ${wide.map(intervalText).join(", ")}`,
    (cpu.busyBefore ?? 0) > MUCH.busy && busyText(cpu.busyBefore),
    (cpu.stealShare ?? 0) > MUCH.steal && stealText(cpu.stealShare),
  ].filter((sign) => sign !== false);
  const noisy = signs.length > 0;
  const spread = spreads.length === 0 ? undefined : Math.max(...spreads.map((one) => one.spread));
  return {
    noisy,
    spread,
    cpu,
    sentence: noisy
      ? `Too noisy to judge: ${[...new Set([...signs, ...explanations(cpu)])].join("; ")}.`
      : quiet(spread),
  };
}

/** Nothing is said of a machine on which nothing was repeated. */
const quiet = (spread: number | undefined): string =>
  spread === undefined
    ? "Nothing was measured twice, so noise of the machine would not show."
    : `Quiet enough to judge: what was measured alone differs by ${percent(spread)} between rounds.`;

/** The interval is wider than the effect, and wider than what is judged at all. Without an interval nothing is known. */
function isTooWide({ value, low, high }: Judged["p99"], tolerance: number): boolean {
  const width = high - low;
  return width > Math.max(tolerance, Math.abs(value - 1));
}

const intervalText = ({ name, p99: { low, high } }: Judged): string =>
  `${low.toFixed(2)} to ${high.toFixed(2)} (${name})`;

function spreadOf(values: readonly number[]): number | undefined {
  const known = values.filter((value) => value > 0);
  return known.length < 2 ? undefined : Math.max(...known) / Math.min(...known) - 1;
}

function explanations({ busyBefore = 0, stealShare = 0, waitShare = 0 }: CpuNoise): string[] {
  return [
    ...(busyBefore > MIN_SHARES.busy ? [busyText(busyBefore)] : []),
    ...(stealShare > MIN_SHARES.steal ? [stealText(stealShare)] : []),
    ...(waitShare > MIN_SHARES.waiting
      ? [`tasks waited for a CPU in ${percent(waitShare)} of the time`]
      : []),
  ];
}

const busyText = (share = 0): string =>
  `before it began other programs used ${percent(share)} of the CPUs' time`;

const stealText = (share = 0): string =>
  `the hypervisor gave ${percent(share)} of the CPUs' time to other machines`;

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
