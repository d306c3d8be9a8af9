import { usage } from "#core";
import { defaultPolicy, type Policy } from "#policy";
import { choice } from "../../program/command.ts";

export const laboratoryPolicies: readonly string[] = ["reef", "tgs", "temporal", "tick-tock"];

/** A policy of the laboratory is refused by one sentence that says where it is. */
export function policyOption(policies: readonly Policy[]) {
  const option = choice(
    policies.map(({ name }) => name),
    defaultPolicy.name,
    policies.map(({ name, summary }) => `${name}: ${summary}`).join("\n"),
  );
  return {
    ...option,
    parse(given: string) {
      if (laboratoryPolicies.includes(given) && !option.choices?.includes(given))
        throw usage(`"${given}" is a policy of cotenant-lab (cotenant-lab up --policy ${given}).`);
      return option.parse(given);
    },
  };
}

export interface Offered {
  readonly policies: readonly Policy[];
  /** Throws a UserError for a policy that this program can't run. */
  named(name: string): Policy;
  readonly examples: readonly string[];
}
