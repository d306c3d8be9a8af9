// The errors of this folder that a user may see. Each names the file, row, field or workload.
import { type Refusal, UserError, withPlace } from "#core";

export const badField = (place: string, field: string, given: string, wanted: string) =>
  new UserError(
    "BAD_TRACE",
    `${place}: ${field} is ${given === "" ? "empty" : `"${given}"`}, not ${wanted}.`,
  );

export const unreadableRow = (place: string, field: string, given: string) =>
  new UserError("BAD_TRACE", `${place}: ${field} can't be read: "${given}".`);

export const missingColumn = (file: string, column: string, header: readonly string[]) =>
  new UserError(
    "BAD_TRACE",
    `${file} has no column ${column}.`,
    `Its first line names: ${header.join(", ").slice(0, 200)}.`,
  );

export const emptyTrace = (file: string) => new UserError("BAD_TRACE", `${file} holds no rows.`);

export const noJobs = (file: string, why: string) =>
  new UserError("NO_JOBS", `${file} gives no job to simulate: ${why}.`);

export const badScenario: Refusal = (file, place, what, hint) =>
  new UserError("BAD_SCENARIO", withPlace(file, place, what), hint, 2);

export const unknownWorkload = (place: string, name: string, known: readonly string[]) =>
  new UserError(
    "UNKNOWN_WORKLOAD",
    `${place}: there is no profile of "${name}".`,
    `Known: ${known.join(", ")}.`,
    2,
  );

export const pairNotMeasured = (online: string, offline: string) =>
  new UserError(
    "PAIR_NOT_MEASURED",
    `${online} and ${offline} were never measured together, so the simulator does not know what they do to each other.`,
    "Leave one of them out of the scenario.",
    2,
  );

export const unknownScheduler = (name: string, known: readonly string[]) =>
  new UserError(
    "UNKNOWN_SCHEDULER",
    `No scheduler is called "${name}".`,
    `Known: ${known.join(", ")}; @rounds or @once behind a name sets when it decides.`,
    2,
  );

export const noKnob = (scheduler: string) =>
  new UserError("NO_KNOB", `${scheduler} has no number to set.`, `Name it without "=…".`, 2);

export const badSetting = (given: string, about: string, least: number, most: number) =>
  new UserError(
    "BAD_SETTING",
    `${given}: the number is ${about}, from ${least} to ${most}.`,
    undefined,
    2,
  );

export const jobTooWide = (scheduler: string, job: string, gpus: number) =>
  new UserError(
    "JOB_TOO_WIDE",
    `${job} needs ${gpus} GPUs, and ${scheduler} puts a job on one GPU.`,
    'Give the trace "gpus": "one", or take a scheduler of whole GPUs: srtf, tiresias.',
    2,
  );

export const jobTooLarge = (job: string, what: string) =>
  new UserError(
    "JOB_TOO_LARGE",
    `${job} can never run: ${what}.`,
    "Give it another workload, or the cluster other GPUs.",
    2,
  );
