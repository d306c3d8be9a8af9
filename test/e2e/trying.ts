// `cotenant try` as a person starts it, with two programs that know nothing of Cotenant, on the software GPU.
import type { TryResult } from "#measure";
import { cotenantItself, type Machine } from "./machine.ts";

export const PATIENCE_MS = 550_000;

export const service = [...cotenantItself, "load", "--rate", "100", "--seconds", "900"];
export const training = [...cotenantItself, "load", "--arrivals", "closed", "--seconds", "900"];
export const short = ["--gpu", "soft", "--seconds", "1", "--rounds", "2", "--warm-up", "0.5"];

/** The jobs of a try run in folders of its own, below this one. */
export const started = (machine: Machine, ...args: string[]) =>
  machine.elsewhere(["env", `TMPDIR=${machine.directory}`, ...cotenantItself, "try", ...args]);

export const rowOf = ({ rows }: TryResult, name: string) => {
  const found = rows.find((row) => row.name === name);
  if (!found) throw new Error(`no row ${name}`);
  return found;
};
