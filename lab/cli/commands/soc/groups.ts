// `cotenant-lab soc groups`: an ONNX model cut into groups of layers.
import { errors, readInput, similar, table, usage } from "#core";
import { groupLayers, readOnnx } from "#soc";
import type { Options } from "./options.ts";

/** As a table, or with --json as the groups of a network in which the times are to be filled in. */
export function groups(file: string, args: Options): number {
  const graph = readOnnx(readBytes(file, "model"), file);
  const unsupported = new Map(args.without.map(cannot));
  const ops = [...new Set(graph.layers.map(({ op }) => op))].sort();
  for (const [accelerator, refused] of unsupported)
    for (const op of refused)
      if (!ops.includes(op)) console.error(noSuchLayer(file, accelerator, op, ops));
  const found = groupLayers(graph, unsupported);
  if (args.json) {
    const network = found.map(({ name, why, unsupported }) => ({
      name,
      timeMs: Object.fromEntries(unsupported.map(({ accelerator }) => [accelerator, null])),
      demand: {},
      why,
    }));
    console.log(JSON.stringify({ name: file, groups: network }, null, 2));
    return 0;
  }
  const rows = found.map(({ name, layers, elements, unsupported, why }) => [
    name,
    unsupported.map(({ accelerator, layer }) => `not ${accelerator}: ${layer}`).join(", "),
    why,
    `${layers.length}`,
    elements === undefined ? "-" : `${elements}`,
  ]);
  const header = ["group", "can't run on", "why it ends there", "layers", "elements out"];
  for (const line of table([header, ...rows], 3)) console.log(line);
  return 0;
}

/** An accelerator may lack operators that this network does not use, so this is no error. */
function noSuchLayer(file: string, accelerator: string, op: string, ops: readonly string[]) {
  const meant = similar(
    op.toLowerCase(),
    ops.map((one) => one.toLowerCase()),
  );
  const one = ops.find((known) => known.toLowerCase() === meant);
  return `soc groups: --without ${accelerator}=${op}: no layer of ${file} is one. ${one === undefined ? `Its operators: ${ops.join(", ")}.` : `Did you mean "${one}"?`}`;
}

function cannot(given: string): [string, ReadonlySet<string>] {
  const [accelerator, ops] = given.split("=");
  if (!accelerator || !ops) throw usage(`--without: "${given}" is not ACCELERATOR=OP,OP.`);
  return [accelerator, new Set(ops.split(","))];
}

function readBytes(path: string, what: string): Uint8Array {
  try {
    return readInput(path);
  } catch (error) {
    throw errors.inputNotRead(what, path, error);
  }
}
