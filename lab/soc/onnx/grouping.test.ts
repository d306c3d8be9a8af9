import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { groupLayers } from "./grouping.ts";
import { readOnnx } from "./model.ts";

// Writes just enough of protocol buffers to make models.
const field = (number: number, bytes: Uint8Array | string): number[] => {
  const content = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  return [...varint(number * 8 + 2), ...varint(content.length), ...content];
};
const varint = (value: number | bigint): number[] => {
  const bits = BigInt.asUintN(64, BigInt(value));
  return bits < 128n ? [Number(bits)] : [Number(bits % 128n) + 128, ...varint(bits / 128n)];
};
const message = (...fields: readonly number[][]) => Uint8Array.from(fields.flat());
const node = (op: string, inputs: string[], output: string) =>
  field(
    1,
    message(
      ...inputs.map((one) => field(1, one)),
      field(2, output),
      field(3, `${op}-${output}`),
      field(4, op),
    ),
  );
const value = (number: number, name: string, dims: number[]) => {
  const shape = message(...dims.map((dim) => field(1, Uint8Array.from([8, ...varint(dim)]))));
  return field(
    number,
    message(field(1, name), field(2, message(field(1, message(field(2, shape)))))),
  );
};
const model = (...graph: readonly number[][]) => message(field(7, message(...graph)));

/** conv-relu, a module of two branches, pool, flatten, gemm, softmax. */
const small = model(
  value(11, "image", [1, 3, 224, 224]),
  value(11, "w", [64, 3, 3, 3]),
  field(5, message(field(8, "w"))),
  node("Conv", ["image", "w"], "a"),
  node("Relu", ["a"], "b"),
  value(13, "b", [1, 64, 200, 2]),
  node("Conv", ["b"], "c"),
  node("Conv", ["b"], "d"),
  node("Concat", ["c", "d"], "e"),
  node("MaxPool", ["e"], "f"),
  node("Flatten", ["f"], "g"),
  node("Gemm", ["g"], "h"),
  node("Softmax", ["h"], "i"),
  value(12, "i", [1, 1000]),
);

test.each([
  ["Constant", []],
  ["ConstantOfShape", ["shape"]],
  ["DequantizeLinear", ["quantised", "scale"]],
])("weights that a %s makes cut the network as weights in the file do", (op, inputs) => {
  const chain = (made: boolean) => {
    const layers = [0, 1, 2].flatMap((i) => [
      node("Conv", [i === 0 ? "image" : `r${i - 1}`, `w${i}`], `c${i}`),
      node("Relu", [`c${i}`], `r${i}`),
    ]);
    const weights = [0, 1, 2].map((i) =>
      made ? node(op, inputs, `w${i}`) : field(5, message(field(8, `w${i}`))),
    );
    const read = inputs.map((name) => field(5, message(field(8, name))));
    const whole = [value(11, "image", [1, 3, 8, 8]), ...read, ...weights, ...layers];
    return model(...whole, value(12, "r2", [1, 3, 8, 8]));
  };
  const groups = (made: boolean) => groupLayers(readOnnx(chain(made), "m.onnx"), new Map());
  expect(groups(true)).toHaveLength(3);
  expect(groups(true)).toEqual(groups(false));
});

test("fused layers, open branches and reformatting stay together; every boundary has its reason", () => {
  const groups = groupLayers(readOnnx(small, "m.onnx"), new Map([["dla", new Set(["Softmax"])]]));
  expect(
    groups.map(({ name, why, elements, unsupported }) => ({ name, why, elements, unsupported })),
  ).toEqual([
    {
      name: "0-1",
      why: "one tensor crosses, and Conv starts a new kernel after Relu",
      elements: 25_600,
      unsupported: [],
    },
    {
      name: "2-4",
      why: "one tensor crosses, and MaxPool starts a new kernel after Concat",
      elements: undefined,
      unsupported: [],
    },
    {
      name: "5-7",
      why: "Softmax-i (Softmax), which dla can't run, begins here",
      elements: undefined,
      unsupported: [],
    },
    {
      name: "8-8",
      why: "the network ends",
      elements: undefined,
      unsupported: [{ accelerator: "dla", layer: "Softmax-i" }],
    },
  ]);
});

test("weights are not inputs", () => {
  expect(readOnnx(small, "m.onnx").inputs).toEqual(["image"]);
});

test("a negative dimension is an unknown one, as exporters write a batch of any size", () => {
  const graph = model(
    value(11, "image", [-1, 3, 224, 224]),
    node("Relu", ["image"], "a"),
    value(12, "a", [8, 3]),
  );
  expect(readOnnx(graph, "m.onnx").elements).toEqual(new Map([["a", 24]]));
});

test.each([
  ["cut short", small.subarray(0, 100), "m.onnx: it is cut short or no ONNX."],
  ["empty", new Uint8Array(), "m.onnx: it has no graph."],
  ["text", new TextEncoder().encode("hello, this is text"), "m.onnx: it is"],
])("%s is reported", (_, bytes, message) => {
  expect(() => readOnnx(bytes, "m.onnx")).toThrow(message);
});

test("a real network, exported without its weights: every module of branches is one group", () => {
  const file = "bench/soc/googlenet.onnx";
  const graph = readOnnx(readFileSync(file), file);
  expect(graph.inputs).toEqual(["x"]);
  const groups = groupLayers(graph, new Map());
  const modules = groups.filter(({ layers }) => layers.some(({ op }) => op === "Concat"));
  expect(modules.map(({ layers }) => layers.filter(({ op }) => op === "Conv").length)).toEqual(
    Array(9).fill(6),
  );
  expect(groups.flatMap(({ layers }) => layers)).toEqual(graph.layers);
  // The tensors after 3a, 3b, 4a to 4e, 5a and 5b, before the poolings, which are groups of their own.
  expect(modules.map(({ elements }) => elements)).toEqual([
    28 * 28 * 256,
    28 * 28 * 480,
    14 * 14 * 512,
    14 * 14 * 512,
    14 * 14 * 512,
    14 * 14 * 528,
    14 * 14 * 832,
    7 * 7 * 832,
    7 * 7 * 1024,
  ]);
});
