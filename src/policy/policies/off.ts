import type { Policy } from "../contract/policy.ts";
import { strict } from "../parameters/strict.ts";

export const off: Policy = {
  name: "off",
  summary: "nobody waits; clients are only counted",
  rules: (seen) => ({ ...strict.rules(seen), protect: 0, graphGates: 0 }),
};
