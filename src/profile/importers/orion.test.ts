import { expect, test } from "vitest";
import { importOrion } from "./orion.ts";

// Rows of resnet50_4_fwd and of transformer_xl (eth-easl/orion, MIT). One has commas in its name.
const rows = `Name,Profile,Memory_footprint,SM_usage,Duration
Conv,1,0,98,100480
BatchNorm,0,0,64,40480
void cutlass::Kernel<float, 128, 2>,-1,0,196,14687
Conv,1,0,98,100480
Conv,1,0,98,26688
`;

test("a row is a launch; equal rows are one kernel", () => {
  const profile = importOrion(rows, "data/resnet50_4_fwd.csv", "eth-easl/orion@aded65d");
  expect(profile).toMatchObject({
    version: 1,
    name: "resnet50_4_fwd",
    kind: "inference",
    gpu: { name: "Tesla V100-SXM2-16GB", computeCapability: "7.0", sms: 80 },
    source: "eth-easl/orion@aded65d",
    soloNs: undefined,
    sequence: [{ kernel: 0 }, { kernel: 1 }, { kernel: 2 }, { kernel: 0 }, { kernel: 3 }],
  });
  expect(
    profile.kernels.map((one) => [one.name, one.class, one.smsNeeded, one.durationNs.p50]),
  ).toEqual([
    ["Conv", "compute", 98, 100_480],
    ["BatchNorm", "memory", 64, 40_480],
    ["void cutlass::Kernel<float, 128, 2>", "unknown", 196, 14_687],
    ["Conv", "compute", 98, 26_688],
  ]);
});

test.each([
  ["bert_8_fb1.csv", "bert_8_fb1", "training"],
  ["x/efficientnet_4_fwd_new.csv", "efficientnet_4_fwd", "inference"],
  ["/orion/mobilenetv2_4_fwd", "mobilenetv2_4_fwd", "inference"],
])("%s is %s, %s", (file, name, kind) => {
  expect(importOrion(rows, file, "orion")).toMatchObject({ name, kind });
});

test("a training's backward pass begins with the first gradient", () => {
  const training = `${rows}nll_loss_backward_reduce_cuda_kernel_2d,0,0,1,4608\nConvBackward,1,0,98,5\n`;
  const { sequence } = importOrion(training, "resnet50_32_fb1.csv", "orion");
  expect(sequence.slice(4)).toEqual([
    { kernel: 3 },
    { mark: "backward" },
    { kernel: 4 },
    { kernel: 5 },
  ]);
  expect(importOrion(rows, "resnet50_32_fb1.csv", "orion").sequence).toHaveLength(5);
});

const header = "Name,Profile,Memory_footprint,SM_usage,Duration\n";
test.each([
  {
    file: "bert_8_fb0.csv",
    text: rows,
    says: "bert_8_fb0.csv: it holds placeholders, no measurements.",
  },
  {
    file: "bert_8_fb1.csv",
    text: `${header}Conv,-1,1,1,7\nBatchNorm,-1,1,1,7\n`,
    says: "bert_8_fb1.csv: it holds placeholders, no measurements.",
  },
  { file: "bert.csv", text: rows, says: "bert.csv: its name ends in neither _fwd nor _fb1" },
  { file: "a_fwd.csv", text: "a,b\n1,2\n", says: "a_fwd.csv, line 1: it is no kernel profile" },
  { file: "a_fwd.csv", text: header, says: "a_fwd.csv: it has no rows below its header." },
  {
    file: "a_fwd.csv",
    text: `${header}Conv,1,0,98,100480\nConv,1,0,9`,
    says: "a_fwd.csv, line 3: it has fewer than five fields: cut short?",
  },
  {
    file: "a_fwd.csv",
    text: `${header}Conv,2,0,98,1\n`,
    says: 'a_fwd.csv, line 2: Profile is "2", not 1, 0 or -1.',
  },
  {
    file: "a_fwd.csv",
    text: `${header}Conv,1,0,0,1\n`,
    says: 'a_fwd.csv, line 2: SM_usage is "0", not a number of SMs.',
  },
  {
    file: "a_fwd.csv",
    text: `${header}Conv,1,0,1,soon\n`,
    says: 'a_fwd.csv, line 2: Duration is "soon", not a number of ns.',
  },
])("says in a sentence: $says", ({ file, text, says }) => {
  expect(() => importOrion(text, file, "orion")).toThrow(says);
});
