// How two sides can run on one modelled GPU, by the names that measured comparisons use.
import { parseArrangement, type Sharing } from "#policies";
import { type Overrides, type Policy, parseOverrides } from "#policy";

export interface Arrangement {
  readonly name: string;
  /**
   * slices: contexts take turns. side-by-side: all kernels run together (MPS, or streams of one process).
   * one-at-a-time: one job keeps the GPU as long as it has kernels.
   */
  readonly sharing: "slices" | "side-by-side" | "one-at-a-time";
  /** Processes share through MPS, which costs each kernel a little time. */
  readonly mps: boolean;
  /** Whether the job takes part. */
  readonly high: boolean;
  readonly bestEffort: boolean;
  /** The high job's kernels get freed SMs first. */
  readonly priorities: boolean;
  /** Percent of the SMs that best-effort work may hold at once. */
  readonly bestEffortPercent: number;
  /** The SMs of each side in green contexts, rounded up as the hardware does. */
  readonly highSms?: number;
  readonly bestEffortSms?: number;
  readonly gated?: { readonly policy: Policy; readonly overrides: Overrides };
  /** Both trainings wait for each other at the end of each pass. */
  readonly alternating?: boolean;
  /** How long before its arrival the high job announces each request; 0: it does not. */
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

/**
 * Also accepts "temporal": one job keeps the GPU as long as it has kernels. Other names are those of
 * `parseArrangement`. Throws a UserError.
 */
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

/** An arrangement with a policy. Also for policies that the table does not list. */
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
