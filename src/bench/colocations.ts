// What the bench measured, as measurements that predictors learn from.
//
// Predictors speak of two jobs that are both at work all the time; a service of the bench is so only part of it. What
// it keeps is solo service time / service time co-located (the burst, not the latency, in which requests queue). The
// training runs alone for the rest of the time, so with `a` for the part in which a request is served,
//     kept over all = a x kept beside requests + (1 - a) x 1.
// Nobody runs faster beside others than alone: what comes out above 1 is noise (trainings that wait for their CPU vary
// by a tenth) and counts as 1.
import { usage } from "#core";
import type { BenchResult } from "./result.ts";

/** With less of it, what the training kept beside requests is lost in noise. */
const LEAST_ACTIVE = 0.15;

interface Client {
  readonly workload: string;
  readonly retained: number;
}

export interface Collected {
  readonly version: 1;
  readonly source: string;
  readonly colocations: readonly { readonly clients: readonly [Client, Client] }[];
}

/** Cells of one service and one training, both at work. Throws a UserError when there are none. */
export function collectSides(results: readonly BenchResult[], arrangement: string): Collected {
  const gpus = [...new Set(results.map(({ machine }) => machine.gpu))];
  if (gpus.length > 1)
    throw usage(
      `The results are of several GPUs: ${gpus.join(", ")}.`,
      "Collect each GPU's by themselves: a model is of one.",
    );
  const colocations = results.flatMap(({ scenario, cells }) =>
    cells.flatMap(({ arrangement: own, high, bestEffort }) => {
      const [only, ...more] = scenario.bestEffort;
      if (own !== arrangement || !high || !bestEffort || !only || more.length > 0) return [];
      const active = high.activeShare.value;
      if (active < LEAST_ACTIVE) return [];
      const beside = (bestEffort.retained.value - (1 - active)) / active;
      const clients = [
        { workload: scenario.high.name, retained: Math.min(1, 1 / high.burst.p50.value) },
        { workload: only.name, retained: Math.min(1, Math.max(0, beside)) },
      ] as const;
      return clients.every(({ retained }) => Number.isFinite(retained)) ? [{ clients }] : [];
    }),
  );
  if (colocations.length === 0)
    throw usage(
      `None of the results has a cell of ${arrangement} with one service and one training.`,
      "Give the name of an arrangement as the bench prints it with --arrangement.",
    );
  const days = [...new Set(results.map(({ date }) => date.slice(0, 10)))].sort();
  return {
    version: 1,
    source: `${gpus[0]}, ${arrangement}, cotenant bench, ${days.join(" and ")}`,
    colocations,
  };
}
