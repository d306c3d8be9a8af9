import { expect, test } from "vitest";
import { workload } from "../../../test/gpu/example.ts";
import { splitLengths } from "./lengths.ts";

const layersOf = (p95: number, launches: number) => {
  const of = workload("layers", [{ us: 100 }, { us: 20 }]);
  return {
    ...of,
    kernels: of.kernels.map((kernel, i) =>
      i === 0 ? { ...kernel, durationNs: { p50: 100e3, p95 } } : kernel,
    ),
    sequence: Array.from({ length: launches }, () => [{ kernel: 0 }, { kernel: 1 }]).flat(),
  };
};

test("a kernel with two very different durations takes the longer one at every fifth place", () => {
  const { kernels, sequence } = splitLengths(layersOf(400e3, 20));
  const times = sequence.map((step) => ("kernel" in step ? kernels[step.kernel]?.durationNs : 0));
  const [short, long] = [
    { p50: 100e3, p95: 100e3 },
    { p50: 400e3, p95: 400e3 },
  ];
  expect(times.filter((_, i) => i % 2 === 0)).toEqual(
    Array.from({ length: 20 }, (_, i) => (i % 5 === 2 ? long : short)),
  );
  expect(new Set(times.filter((_, i) => i % 2 === 1))).toEqual(new Set([kernels[1]?.durationNs]));
});

test.each([
  { why: "they lie near each other", p95: 150e3, launches: 20 },
  { why: "it is launched too seldom to tell", p95: 400e3, launches: 4 },
])("where $why it stays one", ({ p95, launches }) => {
  const profile = layersOf(p95, launches);
  expect(splitLengths(profile)).toEqual(profile);
});
