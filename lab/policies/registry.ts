// The policies of the product and those that only replicate other systems. To add one of the latter: a file beside this one
// with a test, an import and a line here, a row in docs/guide/policies.md.
import { usage } from "#core";
import { type Policy, policies, policyNamed } from "#policy";
import type { ComparedPolicy } from "./compared.ts";
import { reef } from "./reef.ts";
import { temporal } from "./temporal.ts";
import { tgs } from "./tgs.ts";
import { tickTock } from "./tick-tock.ts";

export const comparedPolicies: readonly ComparedPolicy[] = [reef, tgs, temporal, tickTock];

/** All that `cotenant-lab` knows. */
export const allPolicies: readonly ComparedPolicy[] = [...policies, ...comparedPolicies];

/** For use on a GPU; throws a UserError for one that is not known, or that only the model can run. */
export function runnablePolicyNamed(name: string): Policy {
  const found: ComparedPolicy = policyNamed(name, allPolicies);
  if (found.onlyModelled !== undefined)
    throw usage(
      `${name} runs on the modelled GPU only: ${found.onlyModelled}`,
      "cotenant-lab model --help says how.",
    );
  return found;
}
