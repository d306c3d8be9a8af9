import type { Ratios } from "./ratios.ts";

export interface Gpu {
  readonly uuid: string;
  /** GPUs of one site, which is a node, have the same labels and share what the node has. */
  readonly site: string;
  readonly model: string;
  readonly activeShare: number;
  /** Equal for services beside which the same is predicted of each job. */
  readonly serviceKind: string;
  readonly beside: string;
  readonly slots: number;
  pods: number;
  freeBytes: number;
}

export interface Job {
  readonly name: string;
  /** Equal for a job that was moved and the one that comes in its place. */
  readonly owner: string;
  readonly memoryBytes: number;
  readonly priority: number;
  /** Equal for jobs that may run on the same GPUs. */
  readonly constraints: string;
  /** Equal for jobs of which the same is predicted on each GPU. */
  readonly jobKind: string;
  /** It is the same, also of what was measured. */
  readonly forecastKind: string;
  readonly slowed: readonly string[];
  readonly ratio: Ratios;
}

export interface Expected {
  readonly retained: number;
  readonly worth: number;
  readonly isCorrected: boolean;
}

export interface Rules<G extends Gpu, J extends Job> {
  fits(gpu: G, job: J): boolean;
  forecast(gpu: G, job: J): Expected | undefined;
  /** Returns false if earlier jobs have taken what the GPU's node had. */
  take(gpu: G, job: J): boolean;
}

export function expectedOn<G extends Gpu, J extends Job>(
  gpu: G,
  job: J,
  rules: Rules<G, J>,
): Expected | undefined {
  if (job.memoryBytes > gpu.freeBytes || !rules.fits(gpu, job)) return undefined;
  const expected = rules.forecast(gpu, job);
  return expected && expected.worth > 0 ? expected : undefined;
}

export function weightOf<G extends Gpu, J extends Job>(gpu: G, job: J, rules: Rules<G, J>): number {
  const expected = expectedOn(gpu, job, rules);
  if (expected === undefined) return 0;
  return expected.worth * (expected.isCorrected ? 1 : job.ratio.of(gpu.beside));
}

/** Returns false if its node has too little left. */
export function occupy<G extends Gpu, J extends Job>(gpu: G, job: J, rules: Rules<G, J>): boolean {
  if (!rules.take(gpu, job)) return false;
  gpu.pods += 1;
  gpu.freeBytes -= job.memoryBytes;
  return true;
}

export interface Placement<G, J> {
  readonly job: J;
  readonly gpu: G;
}
