// Readings of the software GPU's sensors, set by a test.
import { renameSync, writeFileSync } from "node:fs";
import { pathsIn } from "#agent";
import type { Machine } from "../machine.ts";

/** `vitals`: values by their names in Vitals; null cannot be read. A client must have come before. */
export function pretend(machine: Machine, vitals: object): void {
  const path = `${pathsIn(machine.directory).softGpu}/vitals.json`;
  writeFileSync(`${path}.new`, JSON.stringify({ all: vitals }));
  renameSync(`${path}.new`, path);
}
