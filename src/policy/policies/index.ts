// The table of sharing policies. To add one: a file beside this one with a test of its own, an import and a line here,
// a row in docs/guide/policies.md.
import { errors } from "#core";
import type { Policy } from "../contract/policy.ts";
import { strict } from "../parameters/strict.ts";
import { cotenant } from "./cotenant.ts";
import { muxflow } from "./muxflow.ts";
import { off } from "./off.ts";
import { orion } from "./orion.ts";
import { reef } from "./reef.ts";
import { slo } from "./slo.ts";
import { temporal } from "./temporal.ts";
import { tgs } from "./tgs.ts";
import { tickTock } from "./tick-tock.ts";

export const policies: readonly Policy[] = [
  cotenant,
  strict,
  slo,
  orion,
  reef,
  tgs,
  muxflow,
  temporal,
  tickTock,
  off,
];

/** The default of `cotenant up`. */
export const defaultPolicy = cotenant;

/** For use on a GPU; throws a UserError for one that is not known, or that only the model can run. */
export function policyNamed(name: string): Policy {
  const found = policies.find((policy) => policy.name === name);
  if (!found)
    throw errors.unknownPolicy(
      name,
      policies.map((policy) => policy.name),
    );
  if (found.onlyModelled !== undefined) throw errors.modelledPolicy(name, found.onlyModelled);
  return found;
}
