import { type Refusal, UserError, withPlace } from "#core";

/** `place` is a line, a field, or both; it is empty if the error concerns the whole file. */
export const badProfile: Refusal = (file, place, what, hint) =>
  new UserError("BAD_PROFILE", withPlace(file, place, what), hint);

export const noProfile = (what: string) => new UserError("NO_PROFILE", `There is no ${what}.`);

export const unknownGpu = (file: string, why: string, known: readonly string[]) =>
  new UserError("UNKNOWN_GPU", `${file}: ${why}.`, `Name one: ${known.join(", ")}.`);

export const unknownCapability = (capability: string, known: readonly string[]) =>
  new UserError(
    "UNKNOWN_CAPABILITY",
    `How many blocks fit on an SM of compute capability ${capability} is not known.`,
    `Known: ${known.join(", ")}.`,
  );
