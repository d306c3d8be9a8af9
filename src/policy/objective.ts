// What a high client asks for, as people write it.
import { errors, parseDuration, UserError, usage } from "#core";
import type { Objective } from "./policy.ts";

/** Texts such as "p99=10ms" and "slowdown=5%", the last of a kind counts; throws a UserError. */
export function parseObjective(texts: readonly string[]): Objective {
  let objective: Objective = { p99Us: undefined, slowdown: undefined };
  for (const text of texts) {
    const [kind, goal = ""] = text.split("=");
    const read = kind === "p99" ? time : kind === "slowdown" ? part : undefined;
    if (!read) throw usage(`--slo: "${text}" is neither p99=TIME nor slowdown=PERCENT.`);
    try {
      objective = { ...objective, ...read(goal) };
    } catch (error) {
      throw error instanceof UserError ? errors.badOption(`--slo ${text}`, error) : error;
    }
  }
  return objective;
}

// A client publishes whole microseconds and thousandths, in which 0 stands for no objective.
const LONGEST_US = 3600e6;
const MOST = 100;

function time(text: string): Partial<Objective> {
  const p99Us = parseDuration(text);
  if (p99Us >= 1 && p99Us <= LONGEST_US) return { p99Us };
  throw errors.badQuantity(text, `from 1us to ${LONGEST_US / 1e6}s`);
}

function part(text: string): Partial<Objective> {
  const match = /^(\d+(?:\.\d+)?)%$/.exec(text);
  if (!match) throw errors.badQuantity(text, "a percentage such as 5%");
  const slowdown = Number(match[1]) / 100;
  if (slowdown >= 0.001 && slowdown <= MOST) return { slowdown };
  throw errors.badQuantity(text, `from 0.1% to ${MOST * 100}%`);
}
