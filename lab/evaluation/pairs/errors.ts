// The errors of this folder that a user may see.
import { type Refusal, UserError, withPlace } from "#core";

export const badPairs: Refusal = (file, place, what, hint) =>
  new UserError("BAD_PAIRS", withPlace(file, place, what), hint);
