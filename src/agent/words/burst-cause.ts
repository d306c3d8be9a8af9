// Only the counters of the sample in which a burst ended are known.
import { micros } from "#core";
import type { Burst } from "../history/worst-bursts.ts";
import type { BestEffortStatus, GpuStatus } from "../status/status.ts";
import { type Problem, remedyForAhead } from "./problem.ts";

/** Less queued-ahead work than this part of a burst did not make it slow. */
const MATTERS = 0.05;
const OWN_TIME = 0.5;

export function causeOf(burst: Burst, gpu: GpuStatus): Problem {
  const { lastedUs, waitedUs, aheadUs, aheadSlot } = burst;
  if (aheadUs >= MATTERS * lastedUs) {
    const client = gpu.bestEffort.find(({ slot }) => slot === aheadSlot);
    const several = gpu.bestEffort.length > 1 ? " or another best-effort client" : "";
    const who = client ? `${client.name}${several}` : "a best-effort client that has gone";
    return {
      cause: `up to ${micros(aheadUs)} of ${who} was queued ahead${client ? ` (${stops(client)})` : ""}`,
      remedy: remedyForAhead(aheadUs, gpu),
    };
  }
  if (burst.beside)
    return {
      cause:
        "best-effort work could run concurrently, because the objective seemed to have headroom",
      remedy:
        'a smaller objective, or "cotenant up --policy strict", which lets nothing run concurrently',
    };
  if (waitedUs < OWN_TIME * lastedUs)
    return {
      cause: `nothing was queued ahead; ${micros(lastedUs - waitedUs)} of it was CPU time of the program`,
      remedy: "nothing in Cotenant: launches that cost the program less, such as CUDA graphs, help",
    };
  const [client] = gpu.bestEffort;
  return {
    cause: client
      ? `cause unknown: either its own GPU work or an underestimated kernel of ${client.name} (${stops(client)})`
      : "no best-effort client was there: it waited for its own work",
    remedy: client
      ? `if it recurs: a smaller batch of ${client.name}`
      : "nothing in Cotenant: only its own work ran",
  };
}

function stops(client: BestEffortStatus): string {
  const { longestKernelUs, longestKernel, preemptible, graphGates } = client;
  const which = longestKernel === undefined ? "" : ` ${longestKernel}`;
  const longest =
    longestKernelUs > 0 ? `longest kernel so far${which} ${micros(longestKernelUs)}, ` : "";
  if (graphGates.wholeGraphs > 0) return `${longest}has CUDA graphs that can't stop inside`;
  return preemptible.variants > 0
    ? `${longest}long ones with a variant can stop inside`
    : `${longest}its kernels stop between, not inside`;
}
