// Why a burst was slow, as far as the counters of the look in which it ended tell.
import { micros } from "#core";
import type { Burst } from "../history/worst-bursts.ts";
import type { BestEffortStatus, GpuStatus } from "../status/status.ts";
import { type Problem, remedyForAhead } from "./problem.ts";

/** Less launch-ahead than this part of a burst is not what made it slow. */
const MATTERS = 0.05;
const OWN_TIME = 0.5;

export function causeOf(burst: Burst, gpu: GpuStatus): Problem {
  const { lastedUs, waitedUs, aheadUs, aheadSlot } = burst;
  if (aheadUs >= MATTERS * lastedUs) {
    const client = gpu.bestEffort.find(({ slot }) => slot === aheadSlot);
    const several = gpu.bestEffort.length > 1 ? " or another best-effort client" : "";
    const who = client ? `${client.name}${several}` : "a best-effort client that has gone";
    return {
      cause: `up to ${micros(aheadUs)} of ${who} ran ahead${client ? ` (${stops(client)})` : ""}`,
      remedy: remedyForAhead(aheadUs, gpu),
    };
  }
  if (burst.beside)
    return {
      cause: "best-effort work could run beside it, because the objective seemed to leave room",
      remedy:
        'a smaller objective, or "cotenant up --policy strict", which lets nothing run beside',
    };
  if (waitedUs < OWN_TIME * lastedUs)
    return {
      cause: `nothing ran ahead; ${micros(lastedUs - waitedUs)} of it was CPU time of the program`,
      remedy: "",
    };
  const [client] = gpu.bestEffort;
  return {
    cause: client
      ? `nothing to speak of was known to run ahead: its own work took so long, or a kernel of ${client.name} that was taken for a shorter one (${stops(client)})`
      : "no best-effort client is here: it waited for its own work",
    remedy: "",
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
