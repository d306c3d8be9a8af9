// A transition is logged, runs the operator's command and changes the gate parameters at once.
import type { Log } from "../log/log.ts";
import type { Vitals } from "../sensors/sensor.ts";
import { type Environment, operatorCommand } from "../system/operator-command.ts";
import type { GpuHealth } from "./gpu-health.ts";

interface Surroundings {
  readonly health: GpuHealth;
  readonly vitals: () => readonly Vitals[];
  readonly log: Log;
  readonly command: string | undefined;
  readonly env: Environment;
  readonly changed: (uuid: string) => void;
}

export function lookAfter(around: Surroundings): () => void {
  const { health, vitals, log, changed } = around;
  const run = around.command === undefined ? () => {} : operatorCommand(around.command, around.env);
  return () => {
    const { transitions, xids } = health.look(vitals());
    for (const { gpu, xid } of xids) log("xid", { gpu, xid });
    for (const { gpu, from, to, cause } of transitions) {
      log("health", { gpu, from, to, because: cause });
      const facts = {
        COTENANT_HEALTH_GPU: gpu,
        COTENANT_HEALTH_FROM: from,
        COTENANT_HEALTH_TO: to,
        COTENANT_HEALTH_CAUSE: cause,
      };
      run(facts, (because) => log("health command failed", { gpu, because }));
      changed(gpu);
    }
  };
}
