// Objectives of clients that run: people change them, as an operator who learns what a service needs.
import { type Objective, objectiveTexts } from "#policy";
import type { ServedGpu } from "./gpus/gpu.ts";
import { statedObjective } from "./gpus/hello-objective.ts";
import { isCalled } from "./memory/index.ts";

/** A high client whose objective was changed. */
export interface ObjectiveChange {
  readonly name: string;
  readonly pid: number;
  readonly gpu: string;
  /** As `parseObjective` reads it; empty: none. */
  readonly objective: readonly string[];
}

/**
 * Gives the high clients of that name, or with that pid, this objective in place of theirs; one that states nothing is none. It holds
 * until the client ends, also under the next agent, which finds it in this one's notes.
 */
export const changeObjective = (
  gpus: readonly ServedGpu[],
  called: string,
  objective: Objective,
): readonly ObjectiveChange[] =>
  gpus.flatMap(({ uuid, clients }) =>
    clients
      .filter((client) => client.class === "high" && isCalled(client, called))
      .map((client) => {
        Object.assign(client, statedObjective(objective));
        const { name, pid } = client;
        return { name, pid, gpu: uuid, objective: objectiveTexts(objective) };
      }),
  );
