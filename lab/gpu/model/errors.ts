// The errors of this folder that a user may see.
import { UserError, usage } from "#core";

export const unknownModel = (name: string, known: readonly string[]) =>
  usage(`No GPU called "${name}" can be modelled.`, `Known: ${known.join(", ")}.`);

export const otherGpu = (workload: string, of: string, modelled: string) =>
  usage(
    `${workload} was profiled on ${of}; it says nothing of its speed on ${modelled}.`,
    "Model the GPU that the profile comes from.",
  );

export const emptyProfile = (workload: string) =>
  usage(`The profile of ${workload} launches nothing.`);

export const noGate = (path: string, why: string) =>
  new UserError(
    "NO_GATE",
    `The gate's library ${path} can't be loaded: ${why}`,
    "npm run native builds it.",
  );

export const tooManyBestEffort = (count: number, most: number) =>
  usage(`${count} best-effort jobs on one GPU; ${most} have a slot.`);

export const noJob = (arrangement: string) => usage(`Nobody takes part in ${arrangement}.`);

export const noPasses = (workload: string) =>
  usage(
    `The profile of ${workload} does not mark where its backward pass begins.`,
    "tick-tock needs that of both jobs: a step {mark: backward} in the sequence.",
  );

export const notTwoTrainings = (arrangement: string) =>
  usage(`${arrangement} is for two trainings, the high one in a closed loop.`);
