// The errors of this folder that a user may see.
import { type Refusal, UserError, withPlace } from "#core";

export const badTable: Refusal = (file, place, what, hint) =>
  new UserError("BAD_MEASUREMENTS", withPlace(file, place, what), hint);

export const noCandidates = (target: string) =>
  new UserError("NO_CANDIDATES", `There is no candidate to run beside ${target}.`, "", 2);
