// The errors of this folder that a user may see. Each names the file, and the line and field if there is one.
import { type Refusal, UserError, withPlace } from "#core";

export const badProblem: Refusal = (file, place, what, hint) =>
  new UserError("BAD_PROBLEM", withPlace(file, place, what), hint);

/** No plan satisfies the given limits. */
export const noPlan = (what: string, hint: string) => new UserError("NO_PLAN", what, hint);

export const badModel = (file: string, what: string) =>
  new UserError("BAD_MODEL", `${file}: ${what}`, "It must be an ONNX model.");

export const badPoints = (place: string, what: string) =>
  new UserError("BAD_POINTS", `${place}: ${what}`);

export const proofRefused = (why: string) =>
  new UserError("PROOF_REFUSED", `Z3 can't be asked about this problem: ${why}.`);

export const noZ3 = () =>
  new UserError(
    "NO_Z3",
    "Z3 is not here: Cotenant's wheel leaves it out.",
    "Plan without --z3, or install the npm package, which has it.",
  );

export const proofFailed = (why: string) =>
  new UserError("PROOF_FAILED", `Z3 could not be asked: ${why}`);
