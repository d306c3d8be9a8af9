// One comparison of labels from start to end. What was compared before a failure is kept.
import { dateNow, UserError, usage } from "#core";
import { commitOf, JobFailed, type Machine, machineOf } from "#measure";
import { type BenchOptions, boardOf, filledIn } from "./bench.ts";
import { type LabelRow, missingOf, rowOf, tableOf } from "./label/compare.ts";
import { LabelMeasurement, type LabelPair } from "./label/measure.ts";
import { Places } from "./processes/places.ts";
import { arrangementNamed } from "./scenario/arrangements.ts";
import { loadOf } from "./scenario/arriving.ts";
import type { Scenario } from "./scenario/scenario.ts";

/** An agent with its defaults, as nodes have it. */
const ARRANGEMENT = "cotenant-isolated";

export interface LabelResult {
  readonly version: 1;
  readonly kind: "predict-label";
  readonly date: string;
  readonly machine: Machine;
  readonly commit: string;
  readonly command: string;
  readonly note: string;
  readonly arrangement: string;
  readonly load: number | undefined;
  readonly seconds: number;
  readonly pairs: readonly LabelRow[];
  /** For people. */
  readonly table: string;
  /** Why pairs or labels are missing; undefined: none is. */
  readonly failed?: string;
}

/** Throws a UserError before anything has started. */
export async function compareLabels(
  scenarios: readonly Scenario[],
  options: BenchOptions,
): Promise<LabelResult> {
  const date = dateNow();
  const begun = performance.now();
  const pairs = scenarios.map(pairOf);
  const [{ arriving } = usageOfNone()] = scenarios;
  const board = boardOf(options);
  const places = new Places({ ...options, uuid: board.uuid });
  const place = await places.open(arrangementNamed(ARRANGEMENT).place);
  const measurement = new LabelMeasurement({
    ...options,
    ...{ place, arriving, env: places.environment(place, {}) },
    command: (job) => filledIn(job.run, options),
  });
  const abandon = () => void measurement.end(true);
  options.stop.addEventListener("abort", abandon);
  const rows: LabelRow[] = [];
  let failed: string | undefined;
  try {
    await measurement.run(pairs, (sample) => {
      const row = rowOf(sample);
      rows.push(row);
      options.say(
        `${row.service}+${row.training}: label ${row.label.retained.toFixed(3)}, truth ${row.truth.retained.toFixed(3)}`,
      );
    });
  } catch (error) {
    if (!(error instanceof JobFailed || error instanceof UserError)) throw error;
    failed = options.stop.aborted ? "The measurement was stopped." : error.message;
  } finally {
    options.stop.removeEventListener("abort", abandon);
    await measurement.end();
    await places.close();
  }
  failed ??= missingOf(rows)[0];
  return {
    ...{ version: 1, kind: "predict-label", date },
    machine: machineOf(board.name, board.driver),
    commit: options.commit ?? commitOf(options.codeFolder),
    ...{ command: options.command, note: options.note },
    ...{ arrangement: ARRANGEMENT, load: loadOf(arriving) },
    seconds: Math.round((performance.now() - begun) / 1000),
    ...{ pairs: rows, table: tableOf(rows) },
    ...(failed !== undefined && { failed }),
  };
}

function pairOf({ name, high, bestEffort: [training, ...others] }: Scenario): LabelPair {
  if (!training || others.length > 0)
    throw usage(`${name}: a label is of one service and one best-effort job.`);
  return { service: high, training };
}

function usageOfNone(): never {
  throw usage("--label compares pairs, and none was given.", "Give HIGH+BEST-EFFORT.");
}
