import { type Objective, objectiveTexts } from "#policy";
import { jobsCalled } from "./gpus/called.ts";
import type { ServedGpu } from "./gpus/gpu.ts";
import { statedObjective } from "./gpus/hello-objective.ts";

export interface ObjectiveChange {
  readonly name: string;
  readonly pid: number;
  readonly gpu: string;
  readonly objective: readonly string[];
}

/**
 * An objective that states nothing is none. It holds until the client ends, also under the next
 * agent, which finds it in agent.json.
 */
export const changeObjective = (
  gpus: readonly ServedGpu[],
  called: string,
  objective: Objective,
): readonly ObjectiveChange[] =>
  jobsCalled(gpus, "high", called).map(({ gpu: { uuid }, client }) => {
    Object.assign(client, statedObjective(objective));
    const { name, pid } = client;
    return { name, pid, gpu: uuid, objective: objectiveTexts(objective) };
  });
