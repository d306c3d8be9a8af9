// What a high client asks for, as people write it.
import { errors, parseDuration, usage } from "#core";
import type { Objective } from "./policy.ts";

/** Texts such as "p99=10ms" and "slowdown=5%", the last of a kind counts; throws a UserError. */
export function parseObjective(texts: readonly string[]): Objective {
  let objective: Objective = { p99Us: undefined, slowdown: undefined };
  for (const text of texts) {
    const [kind, goal = ""] = text.split("=");
    if (kind === "p99") objective = { ...objective, p99Us: parseDuration(goal) };
    else if (kind === "slowdown") objective = { ...objective, slowdown: part(goal) };
    else throw usage(`--slo: "${text}" is neither p99=TIME nor slowdown=PERCENT.`);
  }
  return objective;
}

function part(text: string): number {
  const match = /^(\d+(?:\.\d+)?)%$/.exec(text);
  if (!match) throw errors.badQuantity(text, "a percentage such as 5%");
  return Number(match[1]) / 100;
}
