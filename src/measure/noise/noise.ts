// `bench`, `demo` and `try` ask here, so that no table is printed without a word about noise.

export interface CpuNoise {
  readonly busyBefore: number | undefined;
  readonly stealShare: number | undefined;
  readonly waitShare: number | undefined;
}

interface Judged {
  readonly name: string;
  /** Both ratios are to the p99 alone. */
  readonly p99: { readonly value: number; readonly low: number; readonly high: number };
}

interface Repeated {
  readonly what: string; // such as "the p99 alone"
  readonly values: readonly number[];
}

export interface Evidence {
  readonly repeated: readonly Repeated[];
  readonly judged: readonly Judged[];
  readonly tolerance: number; // smaller differences are not judged
  readonly cpu: CpuNoise;
}

export interface Noise {
  readonly noisy: boolean;
  /** The largest repeated value / the smallest - 1; undefined if nothing was repeated. */
  readonly spread: number | undefined;
  readonly cpu: CpuNoise;
  readonly sentence: string;
}

/** Above these a figure of the CPUs explains noise that was seen. */
const MIN_SHARES = { steal: 0.01, busy: 0.2, waiting: 0.2 } as const;
/** These are noise by themselves; waiting for a CPU is not, because measured tasks may wait. */
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

const quiet = (spread: number | undefined): string =>
  spread === undefined
    ? "Nothing was measured twice, so noise of the machine would not show."
    : `Quiet enough to judge: what was measured alone differs by ${percent(spread)} between rounds.`;

/** Without an interval nothing is known. */
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
