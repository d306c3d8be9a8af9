// The ways of running two sides on one modelled GPU, by the names that measured comparisons use.
import { usage } from "#core";
import { type Overrides, type Policy, parseOverrides, policies } from "#policy";

export interface Arrangement {
  readonly name: string;
  /**
   * Contexts of their own that take turns; all kernels side by side (MPS, or streams of one process); or one
   * job's kernels for as long as it has some.
   */
  readonly sharing: "slices" | "side-by-side" | "one-at-a-time";
  /** Processes share through MPS, which costs each kernel a little. */
  readonly mps: boolean;
  /** Who takes part. */
  readonly high: boolean;
  readonly bestEffort: boolean;
  /** The high job's kernels get freed SMs first. */
  readonly priorities: boolean;
  /** Percent of the SMs that best-effort work may hold at once. */
  readonly bestEffortPercent: number;
  /** Green contexts: SMs that each side is confined to, rounded up as the hardware does. */
  readonly highSms?: number;
  readonly bestEffortSms?: number;
  readonly gated?: { readonly policy: Policy; readonly overrides: Overrides };
  /** Both trainings wait for each other at the end of each pass. */
  readonly alternating?: boolean;
  /** The high job announces each request so long before it arrives; 0: it does not. */
  readonly announceNs: number;
}

const FLOOR_NS = 1e6;

const slices = {
  sharing: "slices",
  mps: false,
  high: true,
  bestEffort: true,
  priorities: false,
  bestEffortPercent: 100,
  announceNs: 0,
} as const;
const beside = { ...slices, sharing: "side-by-side", mps: true } as const;

/**
 * solo, alone, time-slicing, mps, mps-priority, mps-PERCENT, streams, temporal, floor, floor-mps, and
 * POLICY-isolated or POLICY-mps, with rules after a colon.
 */
export function arrangementNamed(name: string): Arrangement {
  switch (name) {
    case "solo":
      return { ...slices, name, bestEffort: false };
    case "alone":
      return { ...slices, name, high: false };
    case "time-slicing":
      return { ...slices, name };
    case "mps":
      return { ...beside, name };
    case "mps-priority":
      return { ...beside, name, priorities: true };
    case "streams":
      return { ...beside, name, mps: false, priorities: true };
    case "temporal":
      return { ...named("temporal-isolated"), name, sharing: "one-at-a-time" };
    case "floor":
      return { ...named("strict-isolated"), name, announceNs: FLOOR_NS };
    case "floor-mps":
      return { ...named("strict-mps"), name, announceNs: FLOOR_NS };
    default:
      return named(name);
  }
}

function named(name: string): Arrangement {
  const percent = Number(/^mps-(\d+)$/.exec(name)?.[1]);
  if (percent >= 1 && percent <= 100) return { ...beside, name, bestEffortPercent: percent };
  const [base = "", ...rules] = name.split(":");
  for (const policy of policies)
    for (const mode of ["isolated", "mps"] as const)
      if (base === `${policy.name}-${mode}`)
        return gatedBy(
          name,
          policy,
          mode,
          parseOverrides(rules.join(":").split(",").filter(Boolean)),
        );
  throw usage(`No arrangement is called "${name}".`);
}

/** Also for policies that the table does not list. */
export const gatedBy = (
  name: string,
  policy: Policy,
  mode: "isolated" | "mps",
  overrides: Overrides = {},
): Arrangement => ({
  ...(mode === "isolated" ? slices : beside),
  name,
  priorities: mode === "mps",
  ...(policy.name === "tick-tock" ? { alternating: true } : { gated: { policy, overrides } }),
});
