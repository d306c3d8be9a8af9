// The ways of running two sides on one modelled GPU, by the names that measured comparisons use.
import {
  type Overrides,
  type Policy,
  parseArrangement,
  parseOverrides,
  type Sharing,
} from "#policy";

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

/** As `parseArrangement` has them, and "temporal": one job's kernels for as long as it has some. Throws a UserError. */
export function arrangementNamed(name: string): Arrangement {
  if (name === "temporal")
    return { ...arrangementNamed("temporal-isolated"), name, sharing: "one-at-a-time" };
  const { sharing, high, bestEffort, announceUs } = parseArrangement(name);
  return { ...sharedBy(name, sharing), high, bestEffort, announceNs: announceUs * 1000 };
}

function sharedBy(name: string, sharing: Sharing): Arrangement {
  switch (sharing.kind) {
    case "time-slicing":
      return { ...slices, name };
    case "streams":
      return { ...beside, name, mps: false, priorities: true };
    case "mps":
      return {
        ...beside,
        name,
        priorities: sharing.priorities,
        bestEffortPercent: sharing.percent,
      };
    case "cotenant":
      return gatedBy(name, sharing.policy, sharing.mode, parseOverrides(sharing.rules));
  }
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
