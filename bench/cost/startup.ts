// CPU time that commands take where no agent runs, of clones of this repository in turns, in s; prints one JSON document:
//   npx tsx bench/cost/startup.ts [CLONE...]    each built by `npm run native && npm run bundle`; this one if none is given
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { quantile } from "#core";

const ROUNDS = 10;
const commands = [["run", "--class", "high", "--", "true"], ["status"], ["up", "--help"]];
const [, , ...given] = process.argv;
const directory = mkdtempSync(`${tmpdir()}/cotenant-startup-`);
const clones = given.length > 0 ? given : ["."];

/** `bash`'s own times of its children say what one command took. */
function cpuSeconds(words: readonly string[]): number {
  const script = 'TIMEFORMAT="%U %S"; { time "$@" >/dev/null 2>&1; } 2>&1';
  const env = { ...process.env, COTENANT_DIR: directory };
  const { stdout } = spawnSync("bash", ["-c", script, "bash", ...words], { env, encoding: "utf8" });
  const [user = Number.NaN, system = Number.NaN] = stdout.trim().split(" ").map(Number);
  return user + system;
}

const programs = [
  { of: "node -e 0", words: [process.execPath, "-e", "0"] },
  ...clones.flatMap((clone) =>
    commands.map((command) => ({
      of: `${clone}: cotenant ${command.join(" ")}`,
      words: [`${clone}/bin/cotenant`, ...command],
    })),
  ),
];
const seen = programs.map(() => [] as number[]);
for (let round = 0; round < ROUNDS; round++)
  for (const [i, { words }] of programs.entries()) seen[i]?.push(cpuSeconds(words));

rmSync(directory, { recursive: true });

const found = programs.map(({ of }, i) => ({
  of,
  cpuSecondsP50: quantile(seen[i] ?? [], 0.5),
  least: Math.min(...(seen[i] ?? [])),
  most: Math.max(...(seen[i] ?? [])),
}));
console.log(JSON.stringify({ cpu: cpus()[0]?.model, rounds: ROUNDS, found }, null, 1));
