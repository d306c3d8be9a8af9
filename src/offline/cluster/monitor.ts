// MuxFlow's SysMonitor (section 4.1, Figure 6b): whether a GPU may take best-effort work, keep it, or must evict it.
// The paper's thresholds are "empirically selected" and not printed. The ones here apply to the SMs that both sides
// need together; at 1 the GPU is fully used.

type Health = "healthy" | "unhealthy" | "overlimit" | "disabled";

const HEALTHY_BELOW = 1.1;
const UNHEALTHY_FROM = 1.2;
const OVERLIMIT_FROM = 1.35;
/** The Overlimit state lasts 2^entries minutes. Entries of the last two hours count. */
const MEMORY_SECONDS = 7_200;

export interface Monitor {
  health: Health;
  /** When Overlimit was entered, in seconds. */
  entries: number[];
  /** Overlimit lasts at least until then. */
  until: number;
}

export const newMonitor = (): Monitor => ({ health: "healthy", entries: [], until: 0 });

/** `demand`: the SMs that both sides need, as measured. Returns true if best-effort work must leave now. */
export function watch(monitor: Monitor, now: number, demand: number): boolean {
  if (monitor.health === "disabled") return false;
  if (demand >= OVERLIMIT_FROM) {
    const entered = monitor.health !== "overlimit";
    if (entered)
      monitor.entries = [...monitor.entries.filter((at) => at > now - MEMORY_SECONDS), now];
    monitor.health = "overlimit";
    if (entered) monitor.until = now + 60 * 2 ** monitor.entries.length;
    return entered;
  }
  if (monitor.health === "overlimit") {
    if (now >= monitor.until) monitor.health = "unhealthy";
  } else if (demand >= UNHEALTHY_FROM) monitor.health = "unhealthy";
  else if (demand < HEALTHY_BELOW) monitor.health = "healthy";
  return false;
}
