// Makes the plan for the GPU runner from kernels that workloads/triton_kernels.py has captured, on the machine that
// captured them: node captured.js CAPTURED FOLDER. Says of each whether it reads, prints and verifies.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse, print, verify } from "#ptx";
import type { Captured } from "../../../test/ptx/emulator/captured.ts";
import { type Extent, Plan, type PlanArgument } from "./plan.ts";

const [from, folder] = process.argv.slice(2);
if (from === undefined || folder === undefined)
  throw new Error("Say where: captured.ts CAPTURED FOLDER");

/** The runner's initial contents of a buffer: numbers near 1 of its type. */
const contents = new Map([
  ["bfloat16", "bf16"],
  ["float16", "f16"],
  ["float32", "floats"],
  ["float8_e4m3fn", "fp8"],
]);

const plan = new Plan(folder);
for (const name of readdirSync(from).sort())
  if (name.endsWith(".json")) add(basename(name, ".json"));
console.log(`${plan.write()} cases`);

function add(name: string): void {
  const captured = JSON.parse(
    readFileSync(join(from as string, `${name}.json`), "utf8"),
  ) as Captured;
  const text = readFileSync(join(from as string, `${name}.ptx`), "latin1");
  const module = parse(text);
  const problems = verify(module);
  const [report] = plan.module("captured", name, module);
  const func = module.items.find((item) => item.kind === "function" && item.entry);
  if (report === undefined || func?.kind !== "function") throw new Error(`${name} has no kernel`);
  const said = (verdict: { legal: boolean; reasons: readonly { line: number; text: string }[] }) =>
    verdict.legal
      ? "legal"
      : `refused (${verdict.reasons.map(({ line, text }) => `line ${line}: ${text}`).join("; ")})`;
  console.log(
    `${name}: ${print(module) === text ? "prints the same" : "PRINTS ANOTHER TEXT"}, ${problems.length} problems, slice ${said(report.slice)}, preempt ${said(report.preempt)}`,
  );
  const threads = func.directives.find(({ name }) => name === ".reqntid")?.text ?? "128";
  const args = captured.args.map((arg): PlanArgument => {
    if (arg.kind === "scalar") return { kind: "bytes", bytes: scalar(arg.type, arg.value) };
    return { kind: "buffer", bytes: arg.bytes, contents: contents.get(arg.type) ?? "zeros" };
  });
  // Behind a kernel's arguments Triton passes the addresses of scratch memory; mostly there is none.
  for (let i = args.length; i < func.params.length; i++) {
    const bytes = captured.scratch * captured.grid.reduce((all, one) => all * one, 1);
    args.push(
      i === captured.args.length && bytes > 0
        ? { kind: "buffer", bytes, contents: "zeros" }
        : { kind: "bytes", bytes: new Uint8Array(8) },
    );
  }
  const block: Extent = [Number(threads.split(",")[0]), 1, 1];
  plan.add(
    {
      corpus: "captured",
      file: name,
      kernel: captured.kernel,
      grid: captured.grid,
      block,
      dynamicShared: captured.shared,
      args,
      cubin: readFileSync(join(from as string, `${name}.cubin`)),
    },
    module,
  );
}

function scalar(type: string, value: number): Uint8Array {
  const bytes = Buffer.alloc(/64/.test(type) ? 8 : 4);
  if (type === "fp32") bytes.writeFloatLE(value);
  else if (type === "fp64") bytes.writeDoubleLE(value);
  else if (type === "i64") bytes.writeBigInt64LE(BigInt(value));
  else bytes.writeInt32LE(value);
  return bytes;
}
