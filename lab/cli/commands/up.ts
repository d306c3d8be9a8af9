// The product's agent with the policies of the laboratory, too.
import { upWith } from "#cli";
import { allPolicies, runnablePolicyNamed } from "#policies";

export const upCommand = upWith({
  policies: allPolicies,
  named: runnablePolicyNamed,
  examples: ["cotenant-lab up --gpu soft --policy reef"],
});
