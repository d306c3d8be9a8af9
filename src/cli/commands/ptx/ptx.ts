// PTX looked at, transformed and run without a GPU.
import { readFileSync } from "node:fs";
import { errors, usage } from "#core";
import {
  type KernelReport,
  legality,
  type Module,
  PtxError,
  parse,
  preempt,
  print,
  type Reason,
  slice,
  targetOf,
  verify,
} from "#ptx";
import { type Args, command, json, list, number, text } from "../../command.ts";
import { writeGiven } from "../../../core/files.ts";
import { table } from "../../../core/print.ts";
import { emulate, type Ran } from "./emulate.ts";

/** 227 KiB, of sm_90: no GPU gives a block more. */
const MOST_SHARED = 227 * 1024;

const options = {
  out: text("FILE", undefined, "slice, preempt: write the PTX here instead of to stdout"),
  kernel: text("NAME", undefined, "run: which kernel, where the file has several"),
  grid: text("X,Y,Z", "1", "run: blocks"),
  block: text("X,Y,Z", "32", "run: threads of a block"),
  shared: number("BYTES", 0, "run: dynamic shared memory of a block", {
    whole: true,
    max: MOST_SHARED,
  }),
  arg: list(
    "ARG",
    "run: an argument, in order: a number, or memory as TYPE[COUNT], zero or with =V or =iota: f32[64]=iota",
  ),
  seed: number("N", 0, "run: seed of the order in which warps take turns; 0: rising order", {
    whole: true,
  }),
  show: number("N", 8, "run: how many values of each memory to print", { min: 1, whole: true }),
  json,
};

type PtxArgs = Args<typeof options>;

export const ptxCommand = command({
  name: "ptx",
  summary: "check PTX, make its kernels sliceable or preemptible, or run one on the CPU",
  options,
  positional: {
    name: "check|slice|preempt|run FILE",
    doc: "check says which variants are legal and why others are not; slice and preempt print the module with them",
    atLeast: 2,
  },
  examples: [
    "cotenant ptx check kernel.ptx",
    "cotenant ptx preempt kernel.ptx --out forms.ptx",
    "cotenant ptx run kernel.ptx --grid 4 --block 64 \\\n  --arg 'f32[256]=iota' --arg 256",
  ],
  async run(args) {
    const [verb = "", file = "", stray] = args.positional;
    if (stray !== undefined) throw errors.strayArgument("ptx", stray);
    const act = verbs.get(verb);
    if (act === undefined)
      throw usage(`"ptx" has no "${verb}".`, `Known: ${[...verbs.keys()].join(", ")}.`);
    if (args.out !== undefined && verb !== "slice" && verb !== "preempt")
      throw usage(`--out is for slice and preempt: ${verb} prints what it finds.`);
    return act(moduleIn(file), file, args);
  },
});

const verbs = new Map<string, (module: Module, file: string, args: PtxArgs) => number>([
  ["check", check],
  ["slice", (module, file, args) => transform("slice", module, file, args)],
  ["preempt", (module, file, args) => transform("preempt", module, file, args)],
  ["run", run],
]);

/** PTX is ASCII, but names in debug sections need not be: every byte is kept. */
function moduleIn(file: string): Module {
  let source: string;
  try {
    source = readFileSync(file, "latin1");
  } catch {
    throw usage(`The PTX file ${file} can't be read.`);
  }
  const module = parsed(source, file);
  if (targetOf(module).version === 0) throw usage(`${file} is not PTX: it says no .version.`);
  return module;
}

function parsed(source: string, file: string): Module {
  try {
    return parse(source);
  } catch (fault) {
    if (!(fault instanceof PtxError)) throw fault;
    throw usage(`${file} is not PTX. ${fault.message}`);
  }
}

/** Exit status 1 if names are out of order: ptxas would refuse the file. */
function check(module: Module, file: string, { json: asJson }: PtxArgs): number {
  const problems = verify(module);
  const kernels = legality(module);
  if (asJson)
    console.log(
      JSON.stringify({ file, target: targetOf(module).name, problems, kernels }, null, 2),
    );
  else for (const line of report(module, file)) console.log(line);
  return problems.length === 0 ? 0 : 1;
}

function report(module: Module, file: string): string[] {
  const problems = verify(module);
  const kernels = legality(module);
  const { name, version } = targetOf(module);
  const ptx = `PTX ${Math.floor(version / 100)}.${version % 100}`;
  return [
    `${file}: ${ptx} for ${name || "no target"}, ${kernels.length} ${kernels.length === 1 ? "kernel" : "kernels"}`,
    ...problems.map(({ line, column, text }) => `  line ${line}, column ${column}: ${text}`),
    ...table(
      [
        ["kernel", "line", "slice", "preempt"],
        ...kernels.map((one) => [one.kernel, `${one.line}`, said(one.slice), preemptSaid(one)]),
      ],
      4,
    ),
    ...kernels.flatMap(refusals),
  ];
}

const said = ({ legal }: { readonly legal: boolean }) => (legal ? "legal" : "refused");

function preemptSaid({ preempt: { legal, unified, wholeWarps } }: KernelReport): string {
  if (!legal) return "refused";
  const conditions = [
    unified ? "barriers unified" : "",
    wholeWarps ? "if the block's x size is a multiple of 32" : "",
  ].filter((one) => one !== "");
  return conditions.length === 0 ? "legal" : `legal, ${conditions.join(", ")}`;
}

/** A reason that stands against both variants is said once. */
function refusals({ kernel, slice: sliced, preempt: persistent }: KernelReport): string[] {
  const line = (which: string, one: Reason) =>
    `${kernel}: ${which} refused, line ${one.line}: ${one.text} [${one.code}]`;
  const both = (one: Reason) =>
    persistent.reasons.some((other) => other.code === one.code && other.text === one.text);
  return [
    ...sliced.reasons.map((one) => line(both(one) ? "slice and preempt" : "slice", one)),
    ...persistent.reasons
      .filter((one) => !sliced.reasons.some((o) => o.code === one.code && o.text === one.text))
      .map((one) => line("preempt", one)),
  ];
}

/** The module goes to stdout or --out, what was refused to stderr. Exit status 1 if no kernel was changed. */
function transform(
  pass: "slice" | "preempt",
  module: Module,
  file: string,
  { out, json: asJson }: PtxArgs,
): number {
  const kernels = legality(module);
  const changed = kernels.filter((one) => one[pass].legal);
  const ptx = print((pass === "slice" ? slice : preempt)(module));
  if (asJson) {
    const refused = kernels.filter((one) => !one[pass].legal);
    console.log(
      JSON.stringify(
        {
          file,
          pass,
          changed: changed.map(({ kernel }) => kernel),
          refused: refused.map((one) => ({ kernel: one.kernel, reasons: one[pass].reasons })),
          ptx,
        },
        null,
        2,
      ),
    );
  } else if (out === undefined) process.stdout.write(Buffer.from(ptx, "latin1"));
  if (out !== undefined) writeGiven(out, Buffer.from(ptx, "latin1"));
  console.error(`ptx: ${pass}: ${changed.length} of ${kernels.length} kernels of ${file}`);
  for (const { kernel, [pass]: verdict } of kernels)
    for (const { line, text, code } of verdict.reasons)
      console.error(`ptx: ${kernel} refused, line ${line}: ${text} [${code}]`);
  return changed.length > 0 ? 0 : 1;
}

function run(module: Module, file: string, args: PtxArgs): number {
  const ran = emulate(module, file, args);
  if (args.json) console.log(JSON.stringify(ran, null, 2));
  else for (const line of runReport(ran)) console.log(line);
  return 0;
}

function runReport({ kernel, instructions, printed, memories }: Ran): string[] {
  return [
    ...printed.map((one) => one.replace(/\n$/, "")),
    `${kernel}: ${instructions} instructions`,
    ...memories.map(
      ({ argument, type, count, values }) =>
        `argument ${argument}, ${type}[${count}]: ${values.join(" ")}${values.length < count ? " ..." : ""}`,
    ),
  ];
}
