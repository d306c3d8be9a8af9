// What a user can meet here. Each sentence names the file and, where there is one, the network and the group.
import { UserError } from "#core";

/** `place`: such as `network "a", group "3-7"`; empty for the file as a whole. */
export const badProblem = (file: string, place: string, what: string, hint = "") =>
  new UserError("BAD_PROBLEM", `${[file, place].filter(Boolean).join(", ")}: ${what}`, hint);

/** Nothing keeps the limits that were asked for. */
export const noPlan = (what: string, hint: string) => new UserError("NO_PLAN", what, hint);

export const badModel = (file: string, what: string) =>
  new UserError("BAD_MODEL", `${file}: ${what}`, "It must be an ONNX model.");

export const badPoints = (place: string, what: string) =>
  new UserError("BAD_POINTS", `${place}: ${what}`);

export const proofRefused = (why: string) =>
  new UserError("PROOF_REFUSED", `Z3 can't be asked about this problem: ${why}.`);

export const proofFailed = (why: string) =>
  new UserError("PROOF_FAILED", `Z3 could not be asked: ${why}`);
