// Each GPU gets one job a round. For few kinds, GPUs are distinguished only by what matters to the
// waiting jobs: which of them may run there, and which of their sizes fits.
import { match } from "./match.ts";
import { UNMATCHED } from "./paths.ts";
import { type Gpu, type Job, occupy, type Placement, type Rules, weightOf } from "./state.ts";

const GIB = 2 ** 30;
/** Active shares are rounded up to finer steps first, to coarser ones if kinds are too many. */
const SHARE_STEPS = [0.05, 0.1, 0.25, 1];
/** Matching by kinds takes time in the square of their number, for each of some hundred paths. */
const MAX_KINDS = 280;
/** More rounds mean that jobs hardly fit: the next interval goes on. */
const MAX_ROUNDS = 40;

/** Changes `gpus` and nodes of `rules` as if jobs were placed. `ordered`: the order of slots. */
export function placeInRounds<G extends Gpu, J extends Job>(
  ordered: readonly J[],
  gpus: readonly G[],
  rules: Rules<G, J>,
): readonly Placement<G, J>[] {
  const placed: Placement<G, J>[] = [];
  let waiting = ordered;
  for (let round = 0; round < MAX_ROUNDS && waiting.length > 0; round++) {
    const open = gpus.filter(({ pods, slots }) => pods < slots);
    const { entering, kinds } = enter(waiting, open, rules);
    if (entering.length === 0) break;
    const made = matchOnce(entering, kinds, rules);
    placed.push(...made);
    // A job that got nothing has lost to others of its turn, and enters again where slots are left.
    const gone = new Set(made.map(({ job }) => job));
    if (gone.size === 0) break;
    waiting = waiting.filter((one) => !gone.has(one));
  }
  return placed;
}

interface GpuKind<G> {
  readonly key: string;
  readonly gpus: G[];
}

function enter<G extends Gpu, J extends Job>(
  waiting: readonly J[],
  open: readonly G[],
  rules: Rules<G, J>,
): { readonly entering: readonly J[]; readonly kinds: readonly GpuKind<G>[] } {
  const classes = firstOfEach(waiting, ({ constraints }) => constraints);
  const sizes = [...new Set(waiting.map(({ memoryBytes }) => memoryBytes))].sort((a, b) => a - b);
  const signatures = new Map<string, string>();
  const slowed = new Set(classes.flatMap((one) => one.slowed));
  const signatureOf = (gpu: G): string => {
    const key = slowed.has(gpu.beside) ? `${gpu.site}\n${gpu.beside}` : gpu.site;
    let signature = signatures.get(key);
    if (signature === undefined) {
      signature = classes.map((one) => (rules.fits(gpu, one) ? "1" : "0")).join("");
      signatures.set(key, signature);
    }
    return signature;
  };
  let kinds: GpuKind<G>[] = [];
  for (const step of SHARE_STEPS) {
    kinds = groupBy(open, (gpu) =>
      [
        ...[signatureOf(gpu), gpu.model, gpu.serviceKind, gpu.pods],
        ...[Math.ceil(gpu.activeShare / step), largestWithin(sizes, gpu.freeBytes)],
      ].join("\n"),
    );
    if (kinds.length <= MAX_KINDS) break;
  }
  // The rest has its turn in a later round, when the largest kinds are used up.
  kinds = kinds.sort((a, b) => b.gpus.length - a.gpus.length).slice(0, MAX_KINDS);
  const slots = kinds.reduce((sum, { gpus }) => sum + gpus.length, 0);
  const somewhere = new Map<string, boolean>();
  const jobKinds = new Set<string>();
  const entering: J[] = [];
  for (const one of waiting) {
    const isLower = entering[0] !== undefined && one.priority < entering[0].priority;
    if (entering.length === slots || isLower) break;
    const kind = kindOf(one);
    if (!jobKinds.has(kind) && jobKinds.size === MAX_KINDS) continue;
    let runs = somewhere.get(kind);
    if (runs === undefined) {
      runs = kinds.some(({ gpus: [first] }) => first && weightOf(first, one, rules) > 0);
      somewhere.set(kind, runs);
    }
    if (!runs) continue;
    jobKinds.add(kind);
    entering.push(one);
  }
  return { entering, kinds };
}

const kindOf = (one: Job): string =>
  [one.constraints, one.memoryBytes, one.forecastKind, one.priority].join("\n");

function matchOnce<G extends Gpu, J extends Job>(
  entering: readonly J[],
  kinds: readonly GpuKind<G>[],
  rules: Rules<G, J>,
): readonly Placement<G, J>[] {
  const seats = kinds.flatMap((kind) =>
    kind.gpus.map((gpu) => ({
      name: gpu.uuid,
      kind: kind.key,
      // The kind says which sizes fit, and `weightOf` asks the GPU itself.
      freeMemoryGB: Number.POSITIVE_INFINITY,
      healthy: true,
      gpu,
    })),
  );
  const partners = match(
    seats,
    entering.map((job) => ({
      name: job.name,
      kind: kindOf(job),
      memoryGB: job.memoryBytes / GIB,
      priority: 0,
      job,
    })),
    ({ gpu }, { job }) => weightOf(gpu, job, rules),
  );
  return entering.flatMap((job, i): Placement<G, J>[] => {
    const gpu = seats[partners[i] ?? UNMATCHED]?.gpu;
    // An earlier job may have taken what the node had.
    return gpu && rules.forecast(gpu, job) && occupy(gpu, job, rules) ? [{ job, gpu }] : [];
  });
}

const largestWithin = (sizes: readonly number[], free: number): number =>
  sizes.findLast((size) => size <= free) ?? 0;

const firstOfEach = <T>(all: readonly T[], keyOf: (one: T) => string): readonly T[] => [
  ...new Map(all.toReversed().map((one) => [keyOf(one), one])).values(),
];

function groupBy<G>(all: readonly G[], keyOf: (one: G) => string): GpuKind<G>[] {
  const groups = new Map<string, GpuKind<G>>();
  for (const one of all) {
    const key = keyOf(one);
    const group = groups.get(key);
    if (group) group.gpus.push(one);
    else groups.set(key, { key, gpus: [one] });
  }
  return [...groups.values()];
}
