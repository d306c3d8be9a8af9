// SysMonitor is the state machine of MuxFlow (arXiv 2303.13803, section 4.1 and Figure 6b). It is
// pure: the agent and the simulated cluster both run it.

export const healthStates = ["init", "healthy", "unhealthy", "overlimit", "disabled"] as const;

/**
 * healthy: best-effort work may come. unhealthy: none may. overlimit: present work must stop.
 * disabled: the GPU can't be used.
 */
export type Health = (typeof healthStates)[number];

/** between: neither below Healthy's threshold, nor up to Unhealthy's. */
export type Grade = "healthy" | "between" | "unhealthy" | "overlimit" | "unavailable";

export interface Assessment {
  readonly grade: Grade;
  readonly cause: string;
}

/** Times are in seconds of any clock that does not go back. */
export interface Monitor {
  readonly health: Health;
  readonly since: number;
  readonly cause: string;
  readonly entries: readonly number[]; // times of Overlimit in two hours, the newest last
  readonly until: number; // Overlimit lasts until then at least
}

export interface Step {
  readonly from: Health;
  readonly to: Health;
  readonly cause: string;
}

const MEMORY_SECONDS = 7_200;

/** The paper's period is an exponent of that number, without a unit. */
export const BACK_OFF_SECONDS = 60;

export const newMonitor = (now = 0): Monitor => ({
  health: "init",
  since: now,
  cause: "it has not been judged yet",
  entries: [],
  until: 0,
});

/**
 * A GPU that leaves Init or Disabled is judged at once, so there may be several steps. With n
 * entries in two hours, Overlimit lasts at least `backOff` x 2^n seconds.
 */
export function watch(
  monitor: Monitor,
  now: number,
  seen: Assessment,
  backOff = BACK_OFF_SECONDS,
): { readonly monitor: Monitor; readonly steps: readonly Step[] } {
  const steps: Step[] = [];
  let current = monitor;
  for (;;) {
    const to = next(current, now, seen.grade);
    if (to === current.health) return { monitor: current, steps };
    const from = current.health;
    const cause = causeOf(current, to, seen);
    steps.push({ from, to, cause });
    current = enter(current, to, now, cause, backOff);
    if (from !== "init" && from !== "disabled") return { monitor: current, steps };
  }
}

/** The edges are those of Figure 6b. */
function next({ health, until }: Monitor, now: number, grade: Grade): Health {
  if (grade === "unavailable") return "disabled";
  switch (health) {
    case "disabled":
      return "init";
    case "init":
      return "healthy";
    case "healthy":
      return grade === "overlimit" || grade === "unhealthy" ? grade : "healthy";
    case "unhealthy":
      return grade === "overlimit" || grade === "healthy" ? grade : "unhealthy";
    case "overlimit":
      return grade !== "overlimit" && now >= until ? "unhealthy" : "overlimit";
  }
}

function causeOf({ health, entries }: Monitor, to: Health, seen: Assessment): string {
  if (to === "init") return "it can be used again";
  if (health === "init") return "it is judged from now on";
  if (health === "overlimit" && to === "unhealthy")
    return `no reading is over its limit, and the time to wait after entry ${entries.length} in two hours is over`;
  return seen.cause;
}

function enter(was: Monitor, to: Health, now: number, cause: string, backOff: number): Monitor {
  const recent = was.entries.filter((at) => at > now - MEMORY_SECONDS);
  if (to !== "overlimit") return { ...was, health: to, since: now, cause };
  const entries = [...recent, now];
  return { health: to, since: now, cause, entries, until: now + backOff * 2 ** entries.length };
}
