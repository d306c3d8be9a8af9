// The state on which a decision is made: GPUs with services, and jobs that wait or run. A cluster and a simulation of one
// both describe theirs in these terms.
import type { Ratios } from "./ratios.ts";

/** A GPU that a service has. What is left of it shrinks with each job that is matched. */
export interface Gpu {
  readonly uuid: string;
  /** GPUs of one site, which is a node, have the same labels and share what the node has. */
  readonly site: string;
  readonly model: string;
  /** The part of the time in which the service's requests are served, 0 to 1. */
  readonly activeShare: number;
  /** Equal for services beside which the same is predicted of each job. */
  readonly serviceKind: string;
  /** The service, by which measurements are remembered. */
  readonly beside: string;
  /** How many jobs it may take in all. */
  readonly slots: number;
  /** How many it has. */
  pods: number;
  freeBytes: number;
}

/** A job as it waits, or as it will when it has been moved. */
export interface Job {
  readonly name: string;
  /** Equal for a job that was moved and the one that comes in its place. */
  readonly owner: string;
  readonly memoryBytes: number;
  /** Jobs with a larger number go first. */
  readonly priority: number;
  /** Equal for jobs that may run on the same GPUs. */
  readonly constraints: string;
  /** Equal for jobs of which the same is predicted on each GPU. */
  readonly jobKind: string;
  /** The same, also of what was measured. */
  readonly forecastKind: string;
  /** Services beside which it does not run, because jobs like it were measured to slow them. */
  readonly slowed: readonly string[];
  /** Correction factors of its forecasts. */
  readonly ratio: Ratios;
}

/** Expectation of a job on a GPU. */
export interface Expected {
  /** Throughput that it retains, 0 to 1. */
  readonly retained: number;
  /** Weight of the pair in a matching. */
  readonly worth: number;
  /** Whether measurements have corrected it already. */
  readonly isCorrected: boolean;
}

export interface Rules<G extends Gpu, J extends Job> {
  /** Whether the job may run on the GPU, apart from memory and slots of the GPU. */
  fits(gpu: G, job: J): boolean;
  /** undefined where it should not run. */
  forecast(gpu: G, job: J): Expected | undefined;
  /** Takes what the job needs of the GPU's node. Returns false if earlier jobs have taken it. */
  take(gpu: G, job: J): boolean;
}

/** Expectation where the GPU can take the job now; undefined where it can't or should not run. */
export function expectedOn<G extends Gpu, J extends Job>(
  gpu: G,
  job: J,
  rules: Rules<G, J>,
): Expected | undefined {
  if (job.memoryBytes > gpu.freeBytes || !rules.fits(gpu, job)) return undefined;
  const expected = rules.forecast(gpu, job);
  return expected && expected.worth > 0 ? expected : undefined;
}

/** Weight of a pair in a matching; 0 where the GPU can't or should not take the job. */
export function weightOf<G extends Gpu, J extends Job>(gpu: G, job: J, rules: Rules<G, J>): number {
  const expected = expectedOn(gpu, job, rules);
  if (expected === undefined) return 0;
  return expected.worth * (expected.isCorrected ? 1 : job.ratio.of(gpu.beside));
}

/** Gives the job a part of the GPU. Returns false if its node has too little left. */
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
