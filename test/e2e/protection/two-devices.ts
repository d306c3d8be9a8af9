// A service on two devices of the software GPU, which begins and ends requests when it is told, and a training beside it on each.
import { mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { regionOf } from "../../agent/region.ts";
import { type Client, type Load, type Machine, startMachine } from "../machine.ts";

export const rules = ["--set", "progressAfterUs=1000000", "--set", "startupTimeoutUs=0"];

export interface TwoDevices {
  readonly machine: Machine;
  readonly trainings: readonly Load[];
  readonly service: Client;
  /** Writes the next command, and returns its number. */
  tell(words: string): number;
  /** Resolves when the service has done so. */
  request(where: number, what: "begins" | "ends"): Promise<void>;
  /** Whether a service is active, as the GPU of each training and other ranks see it. */
  active(): readonly boolean[];
  paused(): readonly boolean[];
}

/** `name`: that of a program in the folder `programs`. It serves when it has said all of `ready`. */
export async function startTwoDevices(name: string, ready: readonly string[]): Promise<TwoDevices> {
  const machine = await startMachine({ COTENANT_SOFTGPU: "devices=2" }, ...rules);
  const trainings = [0, 1].map((device) =>
    machine.load("best-effort", ["--arrivals", "closed", "--seconds", "3600"], {
      CUDA_VISIBLE_DEVICES: `${device}`,
    }),
  );
  await Promise.all(trainings.map(({ serving }) => serving));
  const folder = mkdtempSync(join(machine.directory, "commands-"));
  const program = fileURLToPath(new URL(`../programs/${name}`, import.meta.url));
  const service = machine.run("high", ["python3", program, folder]);
  await Promise.all(ready.map((words) => service.said(words)));
  let commands = 0;
  const tell = (words: string): number => {
    writeFileSync(join(folder, "new"), words);
    renameSync(join(folder, "new"), join(folder, `${commands}`));
    return commands++;
  };
  return {
    ...{ machine, trainings, service, tell },
    request: (where, what) => service.said(`done ${tell(`${where} ${what}`)}`),
    active: () => trainings.map((training) => pageOf(training).active !== 0),
    paused: () => trainings.map((training) => pageOf(training).word === 1),
  };
}

function pageOf(training: Client) {
  const page = regionOf(training.pid)?.holds[0];
  if (!page) throw new Error("the training has no control page");
  return page;
}
