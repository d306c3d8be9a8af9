// The table of sharing policies. To add one: a file beside this one, a line here, a row in its test.
import { errors } from "#core";
import { cotenant } from "./policies/cotenant.ts";
import { off } from "./policies/off.ts";
import { orion } from "./policies/orion.ts";
import { reef } from "./policies/reef.ts";
import { slo } from "./policies/slo.ts";
import { strict } from "./policies/strict.ts";
import { temporal } from "./policies/temporal.ts";
import { tgs } from "./policies/tgs.ts";
import { tickTock } from "./policies/tick-tock.ts";
import type { Policy } from "./policy.ts";

export const policies: readonly Policy[] = [
  cotenant,
  strict,
  slo,
  orion,
  reef,
  tgs,
  temporal,
  tickTock,
  off,
];

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
