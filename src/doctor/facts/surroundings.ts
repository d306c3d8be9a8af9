// Tests pass a folder in place of "/", another environment, or another driver.
import { readFileSync } from "node:fs";
import { type DriverFacts, driverFacts } from "#agent";
import { ownUid } from "#client";

export interface Surroundings {
  /** It is a prefix of absolute paths: empty, or a folder of a test. */
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly uid: number;
  readonly itself: readonly string[];
  readonly driver: DriverFacts | string | undefined;
}

export const surroundingsHere = (itself: readonly string[]): Surroundings => ({
  root: "",
  env: process.env,
  uid: ownUid(),
  itself,
  driver: driverFacts(),
});

export const gpusOf = ({ driver }: Surroundings): DriverFacts["gpus"] =>
  typeof driver === "object" ? driver.gpus : [];

/** It returns undefined if it can't be read. */
export function textOf({ root }: Surroundings, path: string): string | undefined {
  try {
    return readFileSync(`${root}${path}`, "utf8");
  } catch {
    return undefined;
  }
}
