// SysMonitor, the state machine of MuxFlow (arXiv 2303.13803, section 4.1 and Figure 6b): whether a GPU may take
// best-effort work, keep it, or must be rid of it. The agent and the simulated cluster both run it. It is pure: what it
// is told and what it was decide what it is.

export const healthStates = ["init", "healthy", "unhealthy", "overlimit", "disabled"] as const;

/**
 * init: the GPU has not been judged yet. healthy: best-effort work may come. unhealthy: none may come. overlimit: what
 * is there must stop. disabled: the GPU can't be used.
 */
export type Health = (typeof healthStates)[number];

/**
 * The worst of all readings. between: not below the threshold of Healthy, and not up to the one of Unhealthy.
 * unavailable: the GPU can't be used at all.
 */
export type Grade = "healthy" | "between" | "unhealthy" | "overlimit" | "unavailable";

export interface Assessment {
  readonly grade: Grade;
  /** Which reading has this grade, in words. */
  readonly cause: string;
}

/** Times are in seconds of any clock that does not go back. */
export interface Monitor {
  readonly health: Health;
  readonly since: number;
  /** Why it is in this state, in words. */
  readonly cause: string;
  /** When Overlimit was entered in the last two hours, the newest last. */
  readonly entries: readonly number[];
  /** Overlimit lasts at least until then. */
  readonly until: number;
}

export interface Step {
  readonly from: Health;
  readonly to: Health;
  readonly cause: string;
}

/** "the times going into the Overlimit state during the last two hours" */
const MEMORY_SECONDS = 7_200;

/** The paper says that the period is an exponent of that number and prints no unit. A minute is ours. */
export const BACK_OFF_SECONDS = 60;

export const newMonitor = (now = 0): Monitor => ({
  health: "init",
  since: now,
  cause: "it has not been judged yet",
  entries: [],
  until: 0,
});

/**
 * The monitor after it has seen this, and the transitions that it made: none, one, or several, since a GPU that leaves
 * Init or Disabled is judged at once. With n entries of Overlimit in two hours, the last one included, Overlimit lasts at
 * least `backOff` x 2^n seconds.
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

/** The edges of Figure 6b. */
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
