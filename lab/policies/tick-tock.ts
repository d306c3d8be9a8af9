// Tick-Tock as Orion, section 6.1, compares with it: two trainings, one in its forward pass while the other is
// in its backward pass, with a barrier between passes, at which the faster one waits. Here both
// sides wait, which a high client never does in Cotenant, and both must say where their passes begin.
import { policyNamed } from "#policy";
import type { ComparedPolicy } from "./compared.ts";

const strict = policyNamed("strict");

export const tickTock: ComparedPolicy = {
  name: "tick-tock",
  summary: "forward passes of one training beside backward passes of the other (model only)",
  onlyModelled: "its high job would have to wait, and both jobs to mark where their passes begin.",
  rules: (seen) => ({ ...strict.rules(seen), protect: 0, graphGates: 0 }),
};
