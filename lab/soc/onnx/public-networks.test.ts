// Networks as their exporters wrote them (scripts/onnx-networks): the numbers of convolutions are those of the papers, so
// no layer is lost, and the groups are those of the networks' own modules.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { groupLayers } from "./grouping.ts";
import { readOnnx } from "./model.ts";

const folder = process.env.COTENANT_NETWORKS ?? "";
if (folder === "")
  console.warn(
    "SKIPPED: public networks, because COTENANT_NETWORKS is not set to $(scripts/onnx-networks).",
  );

test.skipIf(folder === "").each([
  // AlexNet, ZFNet and VGG-19: chains.
  { file: "light_bvlc_alexnet", convolutions: 5, products: 3, groups: 15, largest: 4 },
  { file: "light_zfnet512", convolutions: 5, products: 3, groups: 13, largest: 4 },
  { file: "light_vgg19", convolutions: 16, products: 3, groups: 26, largest: 4 },
  // 8 fire modules; 9 and 10 modules of branches.
  { file: "light_squeezenet", convolutions: 26, products: 0, groups: 24, largest: 5 },
  { file: "light_inception_v1", convolutions: 57, products: 1, groups: 21, largest: 14 },
  { file: "light_inception_v2", convolutions: 69, products: 1, groups: 17, largest: 37 },
  // 16 residual blocks; 58 dense layers.
  { file: "light_resnet50", convolutions: 53, products: 1, groups: 20, largest: 12 },
  { file: "light_shufflenet", convolutions: 49, products: 1, groups: 23, largest: 12 },
  { file: "light_densenet121", convolutions: 121, products: 0, groups: 72, largest: 11 },
  // Detection, angle and text of PP-OCRv4. The first reads the ends of all stages of its backbone again.
  { file: "ch_PP-OCRv4_det_infer", convolutions: 62, products: 0, groups: 21, largest: 270 },
  {
    file: "ch_ppocr_mobile_v2.0_cls_infer",
    convolutions: 53,
    products: 1,
    groups: 33,
    largest: 23,
  },
  { file: "ch_PP-OCRv4_rec_infer", convolutions: 38, products: 13, groups: 92, largest: 143 },
])("$file is $groups groups", ({ file, convolutions, products, groups, largest }) => {
  const graph = readOnnx(readFileSync(join(folder, `${file}.onnx`)), file);
  const found = groupLayers(graph, new Map());
  const count = (...ops: readonly string[]) =>
    graph.layers.filter(({ op }) => ops.includes(op)).length;
  expect({
    convolutions: count("Conv"),
    products: count("Gemm", "MatMul"),
    groups: found.length,
    largest: Math.max(...found.map(({ layers }) => layers.length)),
  }).toEqual({ convolutions, products, groups, largest });
  expect(found.flatMap(({ layers }) => layers)).toEqual(graph.layers);
});
