// SysMonitor in the simulated cluster. The state machine is the agent's (src/health). What it judges here is one figure:
// the SMs that both sides of a GPU need together, where 1 is the whole GPU. The thresholds are ours, because the paper
// prints none.
import { type Assessment, assessmentAt, type Monitor, newMonitor, watch } from "#health";

const demandLimits = { healthyBelow: 1.1, unhealthyFrom: 1.2, overlimitFrom: 1.35 };
const wording = { title: "SMs needed", show: (value: number) => value.toFixed(2) };

interface Monitored {
  monitor: Monitor;
}

const fine: Assessment = { grade: "healthy", cause: "the GPU works" };
const broken: Assessment = { grade: "unavailable", cause: "the GPU failed" };

/** A GPU that has just been found to work. */
export const workingMonitor = (now = 0): Monitor => watch(newMonitor(now), now, fine).monitor;

/** `now`: simulated seconds. Returns true if best-effort work must leave now. */
export function look(gpu: Monitored, now: number, demand: number): boolean {
  // A GPU that failed is not measured until it is repaired.
  const { health } = gpu.monitor;
  if (health === "disabled") return false;
  // Nearly always, so without what `watch` makes.
  if (health === "healthy" && demand < demandLimits.unhealthyFrom) return false;
  const { monitor, steps } = watch(gpu.monitor, now, assessmentAt(demand, demandLimits, wording));
  gpu.monitor = monitor;
  return steps.some(({ to }) => to === "overlimit");
}

export function lose(gpu: Monitored, now: number): void {
  gpu.monitor = watch(gpu.monitor, now, broken).monitor;
}

export function repair(gpu: Monitored, now: number): void {
  gpu.monitor = watch(gpu.monitor, now, fine).monitor;
}
