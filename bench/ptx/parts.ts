// One file of 5 MB in processes that have read no PTX before: whole, and its kernels in two and four parts side by side. By
// the clock, so for a machine with idle cores: npx tsx bench/ptx/parts.ts OUT.json
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { corpora } from "../../test/ptx/ptxas.ts";
import { median, ROUNDS, together } from "./speed.ts";

const PARTS = [1, 2, 4];
const [, , out] = process.argv;
const machine = {
  cpu: cpus()[0]?.model.trim() ?? "",
  cores: cpus().length,
  node: process.version,
  load: loadavg(),
};

const files = corpora();
const rows: object[] = [];
for (const corpus of new Set(files.map((one) => one.corpus))) {
  const text = together(files.filter((one) => one.corpus === corpus).map((one) => one.text));
  for (const pass of ["slice", "preempt"]) {
    const inputs = PARTS.map((parts) => cut(text, parts));
    const clocks = PARTS.map((): number[] => []);
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [i, texts] of inputs.entries()) {
        const all = await Promise.all(texts.map((one) => seconds(pass, one)));
        clocks[i]?.push(Math.max(...all));
      }
    for (const [i, parts] of PARTS.entries())
      rows.push({ corpus, pass, parts, "clock, s": median(clocks[i] ?? []).toFixed(2) });
  }
}
console.table(rows);
const command = `npx tsx bench/ptx/parts.ts ${out}`;
if (out)
  writeFileSync(
    out,
    `${JSON.stringify({ date: new Date().toISOString(), command, machine, rows }, undefined, 1)}\n`,
  );

/** Every so-manyth kernel, each time behind the file's head. */
function cut(text: string, parts: number): string[] {
  const [head = "", ...kernels] = text.split(/(?=^\.visible \.entry)/m);
  return Array.from(
    { length: parts },
    (_, part) => head + kernels.filter((_, i) => i % parts === part).join(""),
  );
}

function seconds(pass: string, input: string): Promise<number> {
  return new Promise((resolve) => {
    const words = [...process.execArgv, "bench/ptx/one-file.ts", pass];
    const child = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"] });
    let said = "";
    child.stdout.on("data", (piece: Buffer) => {
      said += piece;
    });
    child.on("close", () => resolve((JSON.parse(said) as { readonly clock: number }).clock));
    child.stdin.end(input, "latin1");
  });
}
