// `cotenant-lab soc groups`: an ONNX model cut into groups of layers.
import { errors, readInput, table, usage } from "#core";
import { groupLayers, readOnnx } from "#soc";
import type { Options } from "./options.ts";

/** As a table, or with --json as the groups of a network in which the times are to be filled in. */
export function groups(file: string, args: Options): number {
  const found = groupLayers(
    readOnnx(readBytes(file, "model"), file),
    new Map(args.without.map(cannot)),
  );
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
