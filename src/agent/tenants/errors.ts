import { type Refusal, UserError, withPlace } from "#core";

/** `place`: a line, a field, or both; empty for the file as a whole. */
export const badGrants: Refusal = (file, place, what, hint) =>
  new UserError("BAD_GRANTS", withPlace(file, place, what), hint);

export const grantsOfOthers = (path: string) =>
  new UserError(
    "GRANTS_OF_OTHERS",
    `The file of grants ${path} is not believed: others than root and the agent's user may write to it.`,
    `Make it theirs: "chown root ${path}" and "chmod go-w ${path}".`,
  );
