// Verdicts on the mainloops that compile.sh has made, and registers and spills of each kernel and its variants.
// Usage: npx tsx bench/ptx/hopper/table.ts FOLDER OUT.json. Triton's kernels are of a newer PTX than ptxas of CUDA 13.0
// reads; they go to the newest that COTENANT_TRITON brings.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appended, legality, parse, preempt, print, slice } from "#ptx";

interface Used {
  readonly registers: number;
  readonly spilledBytes: number;
  readonly staticSharedBytes: number;
}

const [, , folder = "", out = ""] = process.argv;
const triton = process.env.COTENANT_TRITON ?? "";
const assemblers = {
  cuda: "ptxas",
  triton: join(triton, "triton/backends/nvidia/bin/ptxas-blackwell"),
} as const;

function use(text: string, assembler: string) {
  const place = mkdtempSync(join(tmpdir(), "cotenant-ptxas-"));
  try {
    writeFileSync(join(place, "k.ptx"), text, "latin1");
    const { status, stderr } = spawnSync(
      assembler,
      ["-v", "-arch=sm_90a", "k.ptx", "-o", "k.cubin"],
      { cwd: place, encoding: "utf8" },
    );
    if (status !== 0) throw new Error(stderr);
    const used = new Map<string, Used>();
    let kernel = "";
    let spilledBytes = 0;
    for (const line of stderr.split("\n")) {
      kernel = /Compiling entry function '([^']+)'/.exec(line)?.[1] ?? kernel;
      spilledBytes = Number(/(\d+) bytes spill stores/.exec(line)?.[1] ?? spilledBytes);
      const registers = /Used (\d+) registers/.exec(line)?.[1];
      if (registers === undefined) continue;
      const staticSharedBytes = Number(/(\d+) bytes smem/.exec(line)?.[1] ?? 0);
      used.set(kernel, { registers: Number(registers), spilledBytes, staticSharedBytes });
    }
    const serialised = [...stderr.matchAll(/wgmma\S* instructions are serialized.*?'([^']+)'/g)];
    return { used, serialised: new Set(serialised.map(([, name]) => name)) };
  } finally {
    rmSync(place, { recursive: true });
  }
}

const place = join(folder, "hopper-sm_90a");
const kernels = readdirSync(place)
  .filter((name) => name.endsWith(".ptx"))
  .flatMap((file) => {
    const module = parse(readFileSync(join(place, file), "latin1"));
    const assembler = file.startsWith("triton") ? "triton" : "cuda";
    const { used, serialised } = use(print(preempt(slice(module))), assemblers[assembler]);
    return legality(module).map(({ kernel, slice: sliced, preempt: preempted }) => ({
      file,
      kernel,
      slice: sliced.legal,
      preempt: preempted.legal,
      reasons: [...new Set(preempted.reasons.map(({ code }) => code))],
      wholeWarps: preempted.wholeWarps,
      unified: preempted.unified,
      ptxas: {
        original: used.get(kernel),
        slice: used.get(kernel + appended.slice.suffix),
        preempt: used.get(kernel + appended.preempt.suffix),
      },
      serialised: {
        original: serialised.has(kernel),
        preempt: serialised.has(kernel + appended.preempt.suffix),
      },
    }));
  });
console.table(
  kernels.map(({ file, slice: sliced, preempt: preempted, reasons, ptxas }) => ({
    file,
    slice: sliced,
    preempt: preempted,
    reasons: reasons.join(", "),
    original: text(ptxas.original),
    variant: text(ptxas.preempt),
  })),
);
if (out !== "") {
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim();
  const command =
    "bench/ptx/hopper/compile.sh FOLDER && npx tsx bench/ptx/hopper/table.ts FOLDER OUT.json";
  const versions = Object.fromEntries(
    Object.entries(assemblers).map(([name, path]) => [
      name,
      /V[\d.]+/.exec(execFileSync(path, ["--version"], { encoding: "utf8" }))?.[0],
    ]),
  );
  const made = new Date().toISOString();
  writeFileSync(
    out,
    `${JSON.stringify({ version: 1, made, commit, command, ptxas: versions, kernels })}\n`,
  );
}

function text(one: Used | undefined): string {
  return one === undefined ? "" : `${one.registers}, ${one.spilledBytes} bytes spilled`;
}
