import type { Mode } from "#agent";
import { defaultPolicy, type Policy, policyNamed } from "#policy";

interface Way {
  readonly name: string;
  readonly title: string;
  readonly advice: string;
  readonly choice: "cotenant" | "mps" | "time-slicing";
  readonly mode: Mode;
  readonly policy: Policy;
}

const [off, strict] = [policyNamed("off"), policyNamed("strict")];

/** Simple arrangements come before those that ask more of a person. */
export const ways = [
  {
    name: "time-slicing",
    title: "time slicing",
    advice: "Share without Cotenant or MPS",
    choice: "time-slicing",
    mode: "isolated",
    policy: off,
  },
  {
    name: "mps-priority",
    title: "MPS with priority",
    advice: "Use MPS with priority",
    choice: "mps",
    mode: "mps",
    policy: off,
  },
  {
    name: "cotenant-isolated",
    title: "Cotenant, isolated",
    advice: "Use Cotenant in mode isolated",
    choice: "cotenant",
    mode: "isolated",
    policy: defaultPolicy,
  },
  {
    name: "cotenant-mps",
    title: "Cotenant, mps",
    advice: "Use Cotenant in mode mps",
    choice: "cotenant",
    mode: "mps",
    policy: defaultPolicy,
  },
  // Measured only where the default policy gives the training more than `strict` does.
  {
    name: "strict-isolated",
    title: "Cotenant strict, isolated",
    advice: "Use Cotenant in mode isolated with the policy strict",
    choice: "cotenant",
    mode: "isolated",
    policy: strict,
  },
  {
    name: "strict-mps",
    title: "Cotenant strict, mps",
    advice: "Use Cotenant in mode mps with the policy strict",
    choice: "cotenant",
    mode: "mps",
    policy: strict,
  },
] as const satisfies readonly Way[];

export type WayName = (typeof ways)[number]["name"];

/** solo: the service alone; alone: the training alone. */
export type WindowName = "solo" | "alone" | WayName;

export function wayNamed(name: WayName): Way {
  const found = ways.find((one) => one.name === name);
  if (!found) throw new Error(`no way ${name}`);
  return found;
}

export const isCotenant = (name: WindowName): boolean =>
  name !== "solo" && name !== "alone" && wayNamed(name).choice === "cotenant";

export const isByDefault = ({ policy }: Way): boolean => policy === defaultPolicy;
