// The PTX front end on every kernel there is: `nice npx tsx bench/ptx/run.ts [OUT.json]`. Round trips through
// ptxas, variants assembled, how many kernels are legal and why others are not, registers and occupancy of
// variants, and speed. Takes some minutes where ptxas is; without it, what needs it is left out and said so.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { table } from "#core";
import { hasPtxas } from "../../test/ptx/ptxas.ts";
import { assembleAll } from "./assembling.ts";
import { count } from "./counting.ts";
import { oneFile, speed } from "./speed.ts";

const ptxas = hasPtxas();
if (!ptxas) console.error("bench/ptx: no ptxas here: nothing is assembled.");

const kernels = count();
const assembled = ptxas ? assembleAll() : undefined;
const fast = speed();
const first = oneFile();

print("kernels", kernels.corpora);
print("reasons (kernels)", kernels.reasons);
if (assembled !== undefined) {
  print("files assembled", assembled.corpora);
  print("variants against their originals", assembled.costs);
  for (const failure of assembled.failures) console.log(failure);
}
print("speed, CPU time, median of 5", fast);
print("one file of 5 MB in a fresh process", first);

function print(title: string, rows: readonly object[]): void {
  const [first = {}] = rows;
  const lines = [Object.keys(first), ...rows.map((row) => Object.values(row).map(String))];
  console.log(`\n${title}`);
  for (const line of table(lines, 1)) console.log(line);
}

const said = (command: string, ...words: string[]) =>
  execFileSync(command, words, { encoding: "utf8" }).trim();

const [, , out] = process.argv;
if (out) {
  const result = {
    date: new Date().toISOString(),
    commit: said("git", "rev-parse", "HEAD"),
    uncommitted:
      said("git", "status", "--porcelain", "src/ptx", "lab/emulator", "bench/ptx", "test/ptx") !==
      "",
    command: `nice npx tsx bench/ptx/run.ts ${out}`,
    machine: {
      cpu: cpus()[0]?.model.trim() ?? "",
      cores: cpus().length,
      kernel: release(),
      node: process.version,
      ptxas: ptxas ? (said("ptxas", "--version").split("\n").at(-2) ?? "") : "none",
    },
    kernels,
    assembled,
    speed: fast,
    "one file of 5 MB, in a fresh process": first,
  };
  writeFileSync(out, `${JSON.stringify(result, null, 2)}\n`);
}
process.exitCode = (assembled?.failures.length ?? 0) === 0 ? 0 : 1;
