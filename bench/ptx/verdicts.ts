// Only the counts of run.ts, which take seconds: npx tsx bench/ptx/verdicts.ts [OUT.json]. COTENANT_CORPORA names a
// folder with a folder of PTX files for each further corpus, such as what cccl/compile.sh and cutlass/compile.sh make.
// OUT.json also lists the kernels that cannot be preempted, with the reasons.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { count } from "./counting.ts";

const { corpora, reasons, refused } = count();
console.table(corpora);
console.table(reasons);
const [, , out] = process.argv;
if (out !== undefined) {
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim();
  const command = "COTENANT_CORPORA=FOLDER npx tsx bench/ptx/verdicts.ts OUT.json";
  const made = new Date().toISOString();
  writeFileSync(
    out,
    `${JSON.stringify({ version: 1, made, commit, command, corpora, reasons, refused })}\n`,
  );
}
