// Makes the result document of a measurement from the times of its requests and iterations.
import { alone, solo } from "./arrangements.ts";
import { loadOf } from "./arriving.ts";
import { rolesIn } from "./cast.ts";
import { cellsOf } from "./figures.ts";
import type { Measured } from "./processes/run.ts";
import type { BenchResult, JobFacts } from "./result.ts";
import type { Job, Scenario } from "./scenario.ts";

/** What was measured, by whom and when. */
type Provenance = Pick<BenchResult, "date" | "machine" | "commit" | "command" | "note">;

export function resultOf(
  scenario: Scenario,
  measured: Measured,
  { date, machine, commit, command, note }: Provenance,
): BenchResult {
  const job = (one: Job, process = ""): JobFacts => ({
    name: one.name,
    command: one.run.join(" "),
    facts: measured.facts.get(process) ?? {},
  });
  const { bestEffort } = rolesIn(alone, scenario);
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
    cells: cellsOf(measured, scenario),
  };
}
