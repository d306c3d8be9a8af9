// Checks, transforms and runs PTX without a GPU.
import { command } from "#cli";
import { errors, readInput, usage } from "#core";
import { LONGEST_TEXT, type Module, PtxError, parse, targetOf } from "#ptx";
import { check } from "./check.ts";
import { options, type PtxArgs } from "./options.ts";
import { run } from "./run.ts";
import { transform } from "./transform.ts";

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
    "cotenant-lab ptx check kernel.ptx",
    "cotenant-lab ptx preempt kernel.ptx --out forms.ptx",
    "cotenant-lab ptx run kernel.ptx --grid 4 --block 64 \\\n  --arg 'f32[256]=iota' --arg 256",
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
    source = readInput(file, LONGEST_TEXT).toString("latin1");
  } catch (error) {
    throw errors.inputNotRead("PTX file", file, error);
  }
  const module = parseFile(source, file);
  if (targetOf(module).version === 0) throw usage(`${file} is not PTX: it says no .version.`);
  return module;
}

function parseFile(source: string, file: string): Module {
  try {
    return parse(source);
  } catch (error) {
    if (!(error instanceof PtxError)) throw error;
    throw usage(`${file} is not PTX. ${error.message}`);
  }
}
