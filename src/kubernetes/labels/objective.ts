import { UserError } from "#core";
import { type Objective, parseObjective } from "#policy";
import { OBJECTIVE_ANNOTATION } from "./names.ts";

export interface StatedObjective {
  readonly objective: Objective | undefined;
  readonly problem: string | undefined;
}

export function objectiveIn(text: unknown): StatedObjective {
  if (typeof text !== "string" || text.trim() === "")
    return { objective: undefined, problem: undefined };
  const texts = text.trim().split(/\s+/);
  const kinds = texts.map((one) => one.split("=")[0]);
  const twice = kinds.find((kind, i) => kinds.indexOf(kind) !== i);
  if (twice !== undefined)
    return none(`${OBJECTIVE_ANNOTATION}: "${text.trim()}" states ${twice} twice; state it once.`);
  try {
    return { objective: parseObjective(texts, OBJECTIVE_ANNOTATION), problem: undefined };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return none(error.message);
  }
}

const none = (sentence: string): StatedObjective => ({
  objective: undefined,
  problem: `${sentence} The pod has no objective.`,
});
