import { sameObjective } from "../contract/objective.ts";
import type { MeteredHigh, Objective } from "../contract/policy.ts";
import { underNewObjective } from "./client.ts";
import { isByDefault } from "./gaps.ts";
import { type LadderMemory, restart } from "./memory.ts";

export const onNewLadder = (was: LadderMemory): LadderMemory => ({
  ...restart(was, 0),
  held: 0,
  bans: [],
  pace: undefined,
});

export function withNewObjectives(high: readonly MeteredHigh[], was: LadderMemory): LadderMemory {
  const changed = high.filter((client) => {
    const known = was.clients.get(client.id);
    return known && !sameObjective(stated(known.objective), stated(client.objective));
  });
  if (changed.length === 0) return was;
  const clients = new Map(was.clients);
  for (const client of changed) {
    const known = clients.get(client.id);
    if (known) clients.set(client.id, underNewObjective(known, client));
  }
  return { ...onNewLadder({ ...was, clients }), pausedUntilMs: undefined };
}

const stated = (objective: Objective | undefined): Objective | undefined =>
  isByDefault(objective) ? undefined : objective;
