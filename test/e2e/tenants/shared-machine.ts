// An agent of the machine, and commands of its users in mount and PID namespaces of their own.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { packageRoot } from "#core";
import { emptyMachine, type Machine } from "../machine.ts";

/** May be high. */
export const HIGH_UID = 1000;
/** May be best-effort, with one slot a GPU. */
export const OTHER_UID = 2000;

/** One that all users can run, not one in the folder of this user. */
export const python =
  ["/usr/bin/python3", "/usr/local/bin/python3"].find((path) => existsSync(path)) ?? "python3";

/** The UUID of the first software GPU. */
export const SOFT_GPU = Uint8Array.from(Buffer.from("c07e4a1750f746908000000000000000", "hex"));

/** The package is mounted where all users can reach it, and the command runs as that user. */
const SCRIPT =
  'mount --bind "$1" "$2" && uid=$3 && shift 3 && exec setpriv --pdeathsig=KILL --reuid="$uid" --regid="$uid" --clear-groups "$@"';

const asUser = (uid: number, at: string, words: readonly string[]): readonly string[] => [
  ...["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
  ...["sh", "-c", SCRIPT, "sh", packageRoot(), at, `${uid}`, ...words],
];

const [probe = "", ...probeArgs] = asUser(HIGH_UID, tmpdir(), [process.execPath, "--version"]);
export const allowed = process.getuid?.() === 0 && spawnSync(probe, probeArgs).status === 0;
if (!allowed)
  console.error(
    "SKIPPED: an agent for several users, because this user may not unshare and mount, or others can't reach node.",
  );

const grants = {
  version: 1,
  grants: [
    { name: "serving", to: { user: HIGH_UID }, class: "high" },
    { name: "batch", to: { everybody: true }, class: "best-effort", slots: 1, memory: "1GiB" },
  ],
};

/** An agent of the machine with these grants, and commands of its users. `up` starts it. */
export async function sharedMachine(
  up: (machine: Machine, args: readonly string[]) => Promise<unknown> = (machine, args) =>
    machine.up(...args),
) {
  const machine = emptyMachine();
  const at = mkdtempSync(join(tmpdir(), "cotenant-package-"));
  onTestFinished(() => rmSync(at, { recursive: true, force: true }));
  mkdirSync(at, { recursive: true });
  const file = join(at, "..", `${at.split("/").at(-1)}.json`);
  writeFileSync(file, JSON.stringify(grants), { mode: 0o644 });
  onTestFinished(() => rmSync(file, { force: true }));
  await up(machine, ["--system", "--grants", file]);
  /** A program of that user's. */
  const program = (uid: number, ...words: readonly string[]) =>
    machine.elsewhere(asUser(uid, at, words));
  const command = (uid: number, ...words: readonly string[]) =>
    program(uid, process.execPath, `${at}/bin/cotenant`, ...words);
  const load = (uid: number, kind: "high" | "best-effort", shape: readonly string[]) =>
    command(
      uid,
      ...["run", "--class", kind, "--", process.execPath, `${at}/bin/cotenant`],
      ...["load", ...shape, "--json"],
    );
  return { machine, at, program, command, load };
}
