// Taking turns costs a request one change of contexts (docs/results/nine-pairs.md); under MPS each
// kernel costs more, but best-effort work can use the gaps of a request. An LLM engine's steps read
// memory: what its objectives leave is worth more side by side (docs/results/vllm.md).
import type { MeteredHigh, SeenHigh } from "./contract/policy.ts";
import { isCpuLimited } from "./parameters/cpu-limit.ts";
import { h200 } from "./parameters/hardware.ts";

type Mode = "isolated" | "mps";

export interface Recommendation {
  readonly mode: Mode;
  readonly reason: string;
}

const MPS_COST = 0.09;

interface Recommended {
  readonly high: readonly (SeenHigh & Partial<Pick<MeteredHigh, "objective">>)[];
}

export function recommendMode({ high }: Recommended): Recommendation | undefined {
  const wishes = high.flatMap((client) => wishOf(client) ?? []);
  // Mode isolated also keeps faults apart, so mode mps must suit all clients.
  return wishes.find(({ mode }) => mode === "isolated") ?? wishes[0];
}

function wishOf(client: Recommended["high"][number]): Recommendation | undefined {
  const {
    name,
    soloUs,
    burstP50Us,
    burstByTimeUs = burstP50Us,
    gpuShare,
    inSteps,
    leavesGaps,
    objective,
  } = client;
  const us = soloUs ?? burstByTimeUs;
  if (us === undefined) return undefined;
  if (gpuShare !== undefined && isCpuLimited(gpuShare))
    return {
      mode: "mps",
      reason: `${name} has kernels running for ${Math.round(100 * gpuShare)} % of a request: best-effort work fits between`,
    };
  const what = inSteps && soloUs === undefined ? "step" : "request";
  if (gpuShare === undefined && leavesGaps)
    return {
      mode: "mps",
      reason: `${name} waits for the GPU in a small part of a ${what}: best-effort work fits between its kernels`,
    };
  const ms = `${Number((us / 1000).toPrecision(2))} ms`;
  if (h200.switchUs / us > MPS_COST)
    return {
      mode: "mps",
      reason: `a ${what} of ${name} takes ${ms}, of which a change of contexts would be ${Math.round((100 * h200.switchUs) / us)} %`,
    };
  if (inSteps && objective?.requests)
    return {
      mode: "mps",
      reason: `${name} works in steps of ${ms} and has an objective for its requests, which leaves more to best-effort work side by side than in turns`,
    };
  return {
    mode: "isolated",
    reason: `a ${what} of ${name} takes ${ms} and keeps the GPU busy: side by side would cost it more than turns`,
  };
}
