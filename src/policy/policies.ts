// The table of sharing policies. To add one: a file beside this one, a line here, a row in its test.
import { errors } from "#core";
import { off } from "./off.ts";
import type { Policy } from "./policy.ts";
import { slo } from "./slo.ts";
import { strict } from "./strict.ts";

export const policies: readonly Policy[] = [strict, slo, off];

export function policyNamed(name: string): Policy {
  const found = policies.find((policy) => policy.name === name);
  if (!found)
    throw errors.unknownPolicy(
      name,
      policies.map((policy) => policy.name),
    );
  return found;
}
