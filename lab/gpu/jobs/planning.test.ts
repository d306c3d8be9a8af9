import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { h200, workload } from "../../../test/gpu/example.ts";
import { modelOf } from "../model/presets.ts";
import { planOf } from "./planning.ts";

const kernels = fc.array(
  fc.record({
    us: fc.integer({ min: 1, max: 300 }),
    gapUs: fc.option(fc.nat({ max: 50 }), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 60 },
);
const shapes = (given: readonly { us: number; gapUs: number | undefined }[]) =>
  given.map(({ us, gapUs }) => ({ us, ...(gapUs === undefined ? {} : { gapUs }) }));

describe("a plan", () => {
  test("takes as long alone as the profile says", () => {
    fc.assert(
      fc.property(
        kernels,
        fc.integer({ min: 10, max: 50_000 }),
        fc.constantFrom("inference", "training"),
        fc.constantFrom("kernels", "graph"),
        (given, soloUs, kind, submission) => {
          const profile = workload("any", shapes(given), { kind, soloNs: soloUs * 1000 });
          expect(planOf(profile, h200(), submission).soloNs / (soloUs * 1000)).toBeCloseTo(1, 2);
        },
      ),
    );
  });

  test("whose kernels sum to more than the whole keeps the times of its launches, up to the whole", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 200e3, max: 599e3, noNaN: true }),
        fc.integer({ min: 1, max: 20 }),
        (soloNs, gapUs) => {
          const shapes = Array.from({ length: 60 }, () => ({ us: 10, gapUs }));
          const { cpuNs } = planOf(workload("any", shapes, { soloNs }), h200(), "kernels");
          const launching = cpuNs.reduce((sum, ns) => sum + ns, 0);
          expect(launching / Math.min(60e3 * gapUs, soloNs)).toBeCloseTo(1, 6);
        },
      ),
    );
  });

  test("of a training has the power that was measured, and so keeps its clock", () => {
    const gpu = modelOf("H200");
    const of = (more: object) => {
      const shape = { us: 100, sm: 0.85, memory: 0.1, gapUs: 0 };
      return planOf(workload("fp32", [shape], { soloNs: 100e3, ...more }), gpu, "kernels");
    };
    expect(of({}).referenceMHz).toBeLessThan(1900);
    const known = of({ powerW: 635 });
    expect(known.referenceMHz).toBe(1980);
    const { idleW = 0, fullW = 0, dramPart = 0 } = gpu.power ?? {};
    expect(idleW + fullW * (0.85 * known.drawn + dramPart * 0.1)).toBeCloseTo(635);
  });

  test("without a time for the whole takes as long as its launches and kernels", () => {
    const bound = workload(
      "launch-bound",
      [
        { us: 5, gapUs: 20 },
        { us: 5, gapUs: 20 },
      ],
      { kind: "inference" },
    );
    expect(planOf(bound, h200(), "kernels").soloNs).toBe(45_000);
    const graph = planOf(bound, h200(), "graph");
    expect(graph.soloNs).toBe(h200().launchNs + 10_000);
  });

  test("is refused for another GPU than the profile's", () => {
    const gpu = { name: "V100", computeCapability: "7.0", sms: 80 };
    expect(() => planOf(workload("w", [{ us: 1 }], { gpu }), h200(), "kernels")).toThrow(
      "w was profiled on V100; it says nothing of its speed on H200.",
    );
  });

  test("leaves marks out", () => {
    const profile = workload("marked", [{ us: 5 }], {
      sequence: [
        { mark: "forward" },
        { kernel: 0 },
        { mark: "backward" },
        { copy: "out", bytes: 8 },
      ],
    });
    expect(planOf(profile, h200(), "kernels").length).toBe(2);
  });
});
