import { UserError } from "#core";
import { type Objective, parseObjective, requestLimits } from "#policy";
import type { Hello, View } from "#protocol";
import { printable } from "../system/index.ts";

/** Libraries without a text in their Hello send the fields. */
export function objectiveIn(hello: View<typeof Hello>): Objective | undefined {
  const texts = printable(hello.slo).split(" ").filter(Boolean);
  try {
    if (texts.length > 0) return parseObjective(texts);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
  }
  const requests = requestLimits({
    ttft: hello.sloTtftUs || undefined,
    tpot: hello.sloTpotUs || undefined,
    itl: hello.sloItlUs || undefined,
    e2e: hello.sloE2eUs || undefined,
  });
  return unlessEmpty({
    p99Us: hello.sloP99Us || undefined,
    slowdown: hello.sloSlowdownPermille / 1000 || undefined,
    requests: Object.keys(requests).length > 0 ? requests : undefined,
  });
}

export const statedObjective = (
  objective: Objective,
): { readonly objective: Objective | undefined; readonly isObjectiveStated: true } => ({
  objective: unlessEmpty(objective),
  isObjectiveStated: true,
});

const unlessEmpty = (objective: Objective): Objective | undefined =>
  Object.values(objective).some((part) => part !== undefined) ? objective : undefined;
