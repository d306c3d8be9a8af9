// A new policy needs a file here with a test, an import and a line, and a row in
// docs/guide/policies.md.
import { errors } from "#core";
import type { Policy } from "../contract/policy.ts";
import { strict } from "../parameters/strict.ts";
import { cotenant } from "./cotenant.ts";
import { muxflow } from "./muxflow.ts";
import { off } from "./off.ts";
import { orion } from "./orion.ts";
import { slo } from "./slo.ts";

export const policies: readonly Policy[] = [cotenant, strict, slo, orion, muxflow, off];
export const defaultPolicy = cotenant;

export function policyNamed(name: string, among: readonly Policy[] = policies): Policy {
  const found = among.find((policy) => policy.name === name);
  if (!found)
    throw errors.unknownPolicy(
      name,
      among.map((policy) => policy.name),
    );
  return found;
}
