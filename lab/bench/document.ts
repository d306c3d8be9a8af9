// Makes the result document of a measurement from the times of its requests and iterations.

import { quantile } from "#core";
import { type CpuNoise, type Noise, noiseOf } from "#measure";
import { cellsOf } from "./figures.ts";
import type { Measured } from "./processes/run.ts";
import { alone, solo } from "./scenario/arrangements.ts";
import { loadOf } from "./scenario/arriving.ts";
import { rolesIn } from "./scenario/cast.ts";
import type { BenchResult, Cell, JobFacts } from "./scenario/result.ts";
import type { Job, Scenario } from "./scenario/scenario.ts";

/** Date, machine and code of a measurement. */
type Provenance = Pick<BenchResult, "date" | "machine" | "commit" | "command" | "note"> & {
  /** undefined on the modelled GPU. */
  readonly cpu: CpuNoise | undefined;
};

export function resultOf(
  scenario: Scenario,
  measured: Measured,
  { date, machine, commit, command, note, cpu }: Provenance,
): BenchResult {
  const job = (one: Job, process = ""): JobFacts => ({
    name: one.name,
    command: one.run.join(" "),
    facts: measured.facts.get(process) ?? {},
  });
  const { bestEffort } = rolesIn(alone, scenario);
  const cells = cellsOf(measured, scenario);
  return {
    version: 2,
    kind: "bench",
    date,
    machine,
    commit,
    command,
    note: [note, measured.cutShort && `cut short: ${measured.cutShort}`].filter(Boolean).join("; "),
    scenario: {
      name: scenario.name,
      high: job(scenario.high, rolesIn(solo, scenario).high?.name),
      bestEffort: scenario.bestEffort.map((one, i) => job(one, bestEffort[i]?.name)),
      load: loadOf(scenario.arriving),
      ratePerS: measured.ratePerS,
      arrivals: scenario.arriving.kind,
      rounds: scenario.rounds,
      windowSeconds: measured.windowSeconds,
      ...(scenario.slo.length > 0 ? { slo: scenario.slo } : {}),
    },
    cells,
    ...(cpu ? { noise: noiseIn(measured, cells, cpu) } : {}),
  };
}

/** A smaller difference of a p99 is not what a measurement is made for. */
const TOLERANCE = 0.2;

/** Bursts alone are compared between rounds, because latencies depend on each round's arrivals, too. */
function noiseIn({ rounds }: Measured, cells: readonly Cell[], cpu: CpuNoise): Noise {
  const bursts = rounds.flatMap((round) => {
    const requests = round.get(solo.name)?.requests ?? [];
    const times = requests.map(({ serviceNs }) => serviceNs);
    return times.length > 0 ? [quantile(times, 0.99)] : [];
  });
  return noiseOf({
    repeated: [{ what: "the p99 of bursts alone", values: bursts }],
    judged: cells.flatMap(({ arrangement, high }) =>
      high && arrangement !== solo.name ? [{ name: arrangement, p99: high.latency.p99 }] : [],
    ),
    tolerance: TOLERANCE,
    cpu,
  });
}
