// Makes the measurements from which predictors learn, from results of the bench.
//
// A service retains its service time alone divided by that co-located. The service time is the burst; the latency would
// include queueing. A training's retained throughput is counted beside requests alone (lab/evaluation/pairs/beside.ts).
import { usage } from "#core";
import { besideRequests } from "#evaluation";
import type { BenchResult } from "./scenario/result.ts";

interface Client {
  readonly workload: string;
  readonly retained: number;
}

export interface Collected {
  readonly version: 1;
  readonly source: string;
  readonly arrangement: string;
  readonly colocations: readonly { readonly clients: readonly [Client, Client] }[];
}

/** The cells of one service and one training. Throws a UserError if there are none. */
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
      const beside = besideRequests(bestEffort.retained.value, high.activeShare.value);
      if (beside === undefined) return [];
      const clients = [
        { workload: scenario.high.name, retained: Math.min(1, 1 / high.burst.p50.value) },
        { workload: only.name, retained: beside },
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
    source: `${gpus[0]}, ${arrangement}, cotenant-lab bench, ${days.join(" and ")}`,
    arrangement,
    colocations,
  };
}
