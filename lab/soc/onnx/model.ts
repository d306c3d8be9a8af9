// The graph of an ONNX model: its layers in order, what each reads and writes, and the shapes in the file. Field
// numbers are those of onnx.proto. Weights are skipped.
import { badModel } from "../problem/errors.ts";
import { type Field, fieldsOf } from "./wire.ts";

export interface Layer {
  readonly name: string;
  /** The operator, such as Conv. */
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

export interface Graph {
  readonly layers: readonly Layer[];
  /** The inputs of the network, without its weights. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** The number of elements of each tensor whose dimensions are all known. */
  readonly elements: ReadonlyMap<string, number>;
}

const MODEL_GRAPH = 7;
const GRAPH = { node: 1, initializer: 5, input: 11, output: 12, valueInfo: 13 };
const NODE = { input: 1, output: 2, name: 3, op: 4 };
const TENSOR_NAME = 8;
const VALUE = { name: 1, type: 2 };
const TYPE_TENSOR = 1;
const TENSOR_SHAPE = 2;
const SHAPE_DIM = 1;
const DIM_VALUE = 1;
/** An int64 is written as 64 bits without a sign, and -1 is what exporters write for an unknown dimension. */
const NEGATIVE_FROM = 2 ** 63;

export function readOnnx(bytes: Uint8Array, file: string): Graph {
  const inside = (one: Uint8Array) => fieldsOf(one, file);
  const all = (fields: readonly Field[], number: number) =>
    fields.filter((one) => one.number === number).map((one) => one.bytes);
  const text = (one: Uint8Array | undefined) => new TextDecoder().decode(one ?? new Uint8Array());
  const [graph] = all(inside(bytes), MODEL_GRAPH);
  if (!graph) throw badModel(file, "it has no graph.");
  const fields = inside(graph);
  const weights = new Set(
    all(fields, GRAPH.initializer).map((one) => text(all(inside(one), TENSOR_NAME)[0])),
  );
  const nodes = all(fields, GRAPH.node).map((node, i): Layer => {
    const parts = inside(node);
    const op = text(all(parts, NODE.op)[0]);
    return {
      name: text(all(parts, NODE.name)[0]) || `${op} ${i}`,
      op,
      inputs: all(parts, NODE.input)
        .map(text)
        .filter((one) => one !== ""),
      outputs: all(parts, NODE.output).map(text),
    };
  });
  // Exporters also write weights as nodes that depend on no input of the network: Constant, ConstantOfShape, DequantizeLinear. The
  // format sorts nodes, so these come before the layers that read them.
  const layers = nodes.flatMap((node): readonly Layer[] => {
    const inputs = node.inputs.filter((one) => !weights.has(one));
    if (inputs.length > 0) return [{ ...node, inputs }];
    for (const output of node.outputs) weights.add(output);
    return [];
  });
  if (layers.length === 0)
    throw badModel(file, "its graph has no layer that depends on an input of the network.");
  const elements = new Map<string, number>();
  const describe = (value: Uint8Array): string => {
    const parts = inside(value);
    const name = text(all(parts, VALUE.name)[0]);
    const dims = all(parts, VALUE.type)
      .flatMap((type) => all(inside(type), TYPE_TENSOR))
      .flatMap((tensor) => all(inside(tensor), TENSOR_SHAPE))
      .flatMap((shape) => all(inside(shape), SHAPE_DIM))
      .map((dim) => inside(dim).find((one) => one.number === DIM_VALUE)?.value);
    const known = dims.filter((one): one is number => one !== undefined && one < NEGATIVE_FROM);
    if (dims.length > 0 && known.length === dims.length)
      elements.set(
        name,
        known.reduce((product, one) => product * one, 1),
      );
    return name;
  };
  all(fields, GRAPH.valueInfo).forEach(describe);
  return {
    layers,
    inputs: all(fields, GRAPH.input)
      .map(describe)
      .filter((one) => !weights.has(one)),
    outputs: all(fields, GRAPH.output).map(describe),
    elements,
  };
}
