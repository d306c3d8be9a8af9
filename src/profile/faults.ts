// What a user can meet here. Each sentence names the file and the place in it.
import { UserError } from "#core";

/** `place`: a line, a field, or both; empty for the file as a whole. */
export const badProfile = (file: string, place: string, what: string, hint = "") =>
  new UserError("BAD_PROFILE", `${[file, place].filter(Boolean).join(", ")}: ${what}`, hint);

/** `field`: where the text stops being JSON; empty for the whole. */
export const badJson = (
  file: string,
  { line, field, why }: { readonly line: number; readonly field: string; readonly why: string },
) => badProfile(file, [`line ${line}`, field].filter(Boolean).join(", "), why);

export const noProfile = (what: string) => new UserError("NO_PROFILE", `There is no ${what}.`);

export const unknownGpu = (file: string, why: string, known: readonly string[]) =>
  new UserError("UNKNOWN_GPU", `${file}: ${why}.`, `Name one: ${known.join(", ")}.`);

export const unknownCapability = (capability: string, known: readonly string[]) =>
  new UserError(
    "UNKNOWN_CAPABILITY",
    `How many blocks fit on an SM of compute capability ${capability} is not known.`,
    `Known: ${known.join(", ")}.`,
  );
