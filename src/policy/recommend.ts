// Which mode would suit the high clients that were seen, for the next start: the mode is fixed when processes
// begin. From what was measured on an H200 (docs/results/nine-pairs.md): taking turns costs a request a change of
// contexts; under MPS every one of its kernels costs more, and only there can best-effort work use the gaps
// of a request that is bound by launching.
import type { Observed, SeenHigh } from "./policy.ts";

type Mode = "isolated" | "mps";

export interface Recommendation {
  readonly mode: Mode;
  /** For people: one clause. */
  readonly reason: string;
}

/** A change of contexts (docs/results/hardware.md), and what MPS cost the requests measured there. */
const SWITCH_US = 140;
const MPS_COST = 0.09;
/** With less of its time in kernels a request leaves gaps worth having. */
const LAUNCH_BOUND = 0.75;

/** undefined while nobody is there whose requests are known. */
export function recommendMode({ high }: Observed): Recommendation | undefined {
  const wishes = high.flatMap((client) => wishOf(client) ?? []);
  // Isolated keeps faults apart: mps must suit everybody.
  return wishes.find(({ mode }) => mode === "isolated") ?? wishes[0];
}

function wishOf({ name, soloUs, burstP50Us, gpuShare }: SeenHigh): Recommendation | undefined {
  const us = soloUs ?? burstP50Us;
  if (us === undefined) return undefined;
  if (gpuShare !== undefined && gpuShare < LAUNCH_BOUND)
    return {
      mode: "mps",
      reason: `${name} has kernels running for ${Math.round(100 * gpuShare)} % of a request: best-effort work fits between`,
    };
  const ms = `${(us / 1000).toPrecision(2)} ms`;
  if (SWITCH_US / us > MPS_COST)
    return {
      mode: "mps",
      reason: `a request of ${name} takes ${ms}, of which a change of contexts would be ${Math.round((100 * SWITCH_US) / us)} %`,
    };
  return {
    mode: "isolated",
    reason: `a request of ${name} takes ${ms} and keeps the GPU busy: side by side would cost it more than turns`,
  };
}
