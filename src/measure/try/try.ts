import { driverVersion } from "#agent";
import { dateNow, UserError } from "#core";
import { watchCpu } from "../noise/cpu.ts";
import type { Noise } from "../noise/noise.ts";
import type { Machine } from "../processes/machine.ts";
import { machineOf } from "../processes/machine.ts";
import { JobFailed } from "../processes/process.ts";
import { comparable, figuresOf, noiseIn, requestsAlone, type TryFigures } from "./figures.ts";
import type { TryOptions } from "./options.ts";
import { runStage, secondsOf, stages, type TryWindow } from "./stage.ts";
import { decide, type Verdict } from "./verdict.ts";

export interface TryResult extends TryFigures {
  readonly version: 1;
  readonly kind: "try";
  readonly date: string;
  readonly machine: Machine;
  readonly command: string;
  readonly seconds: number;
  readonly rounds: number;
  readonly accepted: number;
  readonly skipped: readonly string[];
  readonly strangers: readonly string[];
  readonly noise: Noise;
  readonly verdict: Verdict;
}

/** Throws a UserError if a job could not be measured, or the measurement was stopped. */
export async function tryPair(options: TryOptions): Promise<TryResult> {
  const date = dateNow();
  const endOfCpu = await watchCpu();
  const planned = stages.filter(({ mode }) => mode !== "mps" || options.withoutMps === undefined);
  const skipped = options.withoutMps === undefined ? [] : [`mode mps: ${options.withoutMps}`];
  for (const one of skipped) options.warn(`Not measured, ${one}`);
  const windows: TryWindow[] = [];
  const strangers = new Set<string>();
  let gpu = "";
  let isNoisy = false;
  try {
    for (const [index, plan] of planned.entries()) {
      const later = planned.slice(index + 1).reduce((sum, one) => sum + secondsOf(one, options), 0);
      const say = (line: string, leftS: number) => options.say(line, leftS + later);
      const outcome = await runStage(plan, options, say, (seen) => {
        const noise = noiseIn([...windows, ...seen], options.accepted, endOfCpu());
        // If an earlier stage was noisy, repeating this one does not help.
        return noise.noisy && !isNoisy ? noise.sentence : undefined;
      });
      windows.push(...outcome.windows);
      isNoisy = noiseIn(windows, options.accepted, endOfCpu()).noisy;
      gpu = outcome.gpu;
      for (const one of outcome.strangers) strangers.add(one);
    }
  } catch (error) {
    if (options.stop.aborted) throw new UserError("STOPPED", "The measurement was stopped.");
    if (error instanceof JobFailed) throw new UserError("JOB_FAILED", `The ${error.message}`);
    throw error;
  }
  const figures = figuresOf(windows);
  const noise = noiseIn(windows, options.accepted, endOfCpu());
  const { accepted, seconds, rounds, command } = options;
  return {
    version: 1,
    kind: "try",
    date,
    machine: machineOf(gpu, options.gpu === "soft" ? "software" : (driverVersion() ?? "")),
    command,
    seconds,
    rounds,
    accepted,
    skipped,
    strangers: [...strangers],
    ...figures,
    noise,
    verdict: decide({
      figures: comparable(figures),
      requests: requestsAlone(figures),
      accepted,
      noise,
    }),
  };
}
