import type { Objective } from "#policy";
import { askClients, type ParkCommand, type SentCommand } from "./memory/index.ts";
import { changeObjective, type ObjectiveChange } from "./objectives.ts";
import type { Parts } from "./parts.ts";
import type { AskedShare } from "./shares/asked-shares.ts";

export interface Orders {
  readonly park: (called: string, wish: ParkCommand, to?: string) => readonly SentCommand[];
  readonly state: (called: string, objective: Objective) => readonly ObjectiveChange[];
  /** `because` undefined lifts the hold. */
  readonly hold: (uuid: string, because: string | undefined) => void;
  readonly share: (uuid: string, pod: string, given: AskedShare | undefined) => void;
}

export const ordersTo = (
  { registry, holds, shares, rewriteRules, log }: Parts,
  noted: () => void,
): Orders => ({
  park: (called, wish, to) => {
    const asked = askClients(registry.gpus, called, wish, to);
    for (const { gpu, pid, name } of asked)
      if (to === undefined) log(`asked to ${wish}`, { client: name, pid, gpu });
      else log("asked to move", { client: name, pid, gpu, to });
    return asked;
  },
  state: (called, stated) => {
    const changed = changeObjective(registry.gpus, called, stated);
    for (const { name, pid, gpu, objective } of changed)
      log("objective changed", {
        client: name,
        pid,
        gpu,
        objective: objective.join(" ") || "none",
      });
    if (changed.length > 0) noted();
    return changed;
  },
  hold: (uuid, because) => {
    if (because === undefined) {
      if (holds.lift(uuid)) log("hold lifted", { gpu: uuid });
    } else if (holds.hold(uuid, because)) log("held", { gpu: uuid, because });
    rewriteRules(uuid);
  },
  share: (uuid, pod, given) => {
    if (given === undefined) {
      if (shares.take(uuid, pod)) log("share taken back", { gpu: uuid, pod });
    } else if (shares.give(uuid, pod, given)) log("share given", { gpu: uuid, pod, ...given });
    rewriteRules(uuid);
  },
});
