// Packages of released versions, which scripts/release/keep keeps for tests of upgrades.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../machine.ts";

const FOLDER = "test/versions";
const ENDING = ".tar.xz";

/** The versions that are kept; none before the first release. */
export const releasedVersions: readonly string[] = (existsSync(FOLDER) ? readdirSync(FOLDER) : [])
  .filter((file) => file.endsWith(ENDING))
  .map((file) => file.slice(0, -ENDING.length));

/** Returns the folder of an installed package of that version, with this clone's Koffi and software GPU. */
export function installReleased(version: string): string {
  const root = temporaryDirectory();
  execFileSync("tar", ["-xJf", join(FOLDER, version + ENDING), "-C", root]);
  symlinkSync(join(process.cwd(), "node_modules"), join(root, "node_modules"));
  symlinkSync(join(process.cwd(), "build/native/softgpu"), join(root, "build/native/softgpu"));
  return root;
}
