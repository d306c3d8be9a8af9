// Joins layers to groups (HaX-CoNN, section 3.1). Between two consecutive layers the network may change accelerator
// unless a rule forbids it. The first rule that forbids it is recorded as the reason why the layers stay together. A
// boundary has a recorded reason too.
import type { Graph, Layer } from "./model.ts";

export interface LayerGroup {
  /** The positions of its first and last layer, as in "10-24". */
  readonly name: string;
  readonly layers: readonly Layer[];
  /** The accelerators that cannot run all of it, each with the layer that prevents it. */
  readonly unsupported: readonly { readonly accelerator: string; readonly layer: string }[];
  /** Why the network may change accelerator after this group. */
  readonly why: string;
  /** The elements that a transition here moves, if the file has the shape. */
  readonly elements: number | undefined;
}

/** For each accelerator, the operators that it cannot run. */
export type Unsupported = ReadonlyMap<string, ReadonlySet<string>>;

/** Operators that runtimes fuse into the layer that computes their input. */
const FUSED = new Set([
  "Add",
  "BatchNormalization",
  "Clip",
  "HardSigmoid",
  "HardSwish",
  "LeakyRelu",
  "Mul",
  "PRelu",
  "Relu",
  "Sigmoid",
  "Sum",
]);
/** The layers into which they are fused. */
const FUSES = new Set(["Conv", "ConvTranspose", "Gemm", "MatMul", ...FUSED]);
/** Operators that only move or rename data. A boundary next to one costs a second reformatting. */
const REFORMATS = new Set([
  "Flatten",
  "Identity",
  "Reshape",
  "Shape",
  "Squeeze",
  "Transpose",
  "Unsqueeze",
]);

export function groupLayers(graph: Graph, unsupported: Unsupported): LayerGroup[] {
  const { layers } = graph;
  const groups: LayerGroup[] = [];
  let begin = 0;
  for (const i of layers.keys()) {
    const crossing = crossings(graph, i);
    const last = i === layers.length - 1;
    const verdict = last
      ? { cut: true, why: "the network ends" }
      : between(graph, i, crossing, unsupported);
    if (!verdict.cut) continue;
    const inside = layers.slice(begin, i + 1);
    const [tensor] = crossing;
    groups.push({
      name: `${begin}-${i}`,
      layers: inside,
      unsupported: [...unsupported].flatMap(([accelerator, ops]) => {
        const blamed = inside.find(({ op }) => ops.has(op));
        return blamed ? [{ accelerator, layer: blamed.name }] : [];
      }),
      why: verdict.why,
      elements: tensor === undefined ? undefined : graph.elements.get(tensor),
    });
    begin = i + 1;
  }
  return groups;
}

/** The tensors that layer i or an earlier one makes and a later one reads. */
function crossings({ layers, inputs }: Graph, i: number): string[] {
  const made = new Set([...inputs, ...layers.slice(0, i + 1).flatMap(({ outputs }) => outputs)]);
  const read = new Set(layers.slice(i + 1).flatMap((layer) => layer.inputs));
  return [...made].filter((one) => read.has(one));
}

function between(
  { layers }: Graph,
  i: number,
  crossing: readonly string[],
  unsupported: Unsupported,
): { cut: boolean; why: string } {
  const [before, after] = [layers[i], layers[i + 1]];
  if (!before || !after) return { cut: false, why: "" };
  if (crossing.length > 1)
    return { cut: false, why: `${crossing.length} tensors would have to move: branches are open` };
  if (
    FUSES.has(before.op) &&
    FUSED.has(after.op) &&
    after.inputs.some((one) => before.outputs.includes(one))
  )
    return { cut: false, why: `${after.op} is fused into ${before.op}` };
  for (const [accelerator, ops] of unsupported)
    if (ops.has(before.op) !== ops.has(after.op)) {
      const [stranger, verb] = ops.has(after.op) ? [after, "begins"] : [before, "ends"];
      return {
        cut: true,
        why: `${stranger.name} (${stranger.op}), which ${accelerator} can't run, ${verb} here`,
      };
    }
  if (REFORMATS.has(before.op) || REFORMATS.has(after.op)) {
    const mover = REFORMATS.has(before.op) ? before : after;
    return { cut: false, why: `${mover.op} only reformats: a transition would do it twice` };
  }
  return {
    cut: true,
    why: `one tensor crosses, and ${after.op} starts a new kernel after ${before.op}`,
  };
}
