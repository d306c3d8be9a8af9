import { expect, test } from "vitest";
import type { SeenHigh } from "./policy.ts";
import { recommendMode } from "./recommend.ts";

const client = (more: Partial<SeenHigh>): SeenHigh => ({
  name: "service",
  burstP50Us: undefined,
  ...more,
});
const modeOf = (...high: Partial<SeenHigh>[]) =>
  recommendMode({ isolated: true, high: high.map(client) })?.mode;

test.each([
  {
    name: "a long request that keeps the GPU busy",
    high: { soloUs: 3100, gpuShare: 0.95 },
    mode: "isolated",
  },
  { name: "the same without a profile", high: { burstP50Us: 3100 }, mode: "isolated" },
  { name: "a short one", high: { soloUs: 1250, gpuShare: 0.95 }, mode: "mps" },
  { name: "one that is bound by launching", high: { soloUs: 4000, gpuShare: 0.5 }, mode: "mps" },
  { name: "one that nothing is known of", high: {}, mode: undefined },
])("$name: $mode", ({ high, mode }) => {
  expect(modeOf(high)).toBe(mode);
});

test("mps must suit everybody", () => {
  expect(modeOf({ soloUs: 1250 }, { soloUs: 10_000 })).toBe("isolated");
  expect(modeOf({ soloUs: 1250 }, {}, { soloUs: 900 })).toBe("mps");
  expect(modeOf()).toBeUndefined();
});

test("the reason names the client and the figure", () => {
  expect(
    recommendMode({ isolated: true, high: [client({ soloUs: 4000, gpuShare: 0.5 })] })?.reason,
  ).toBe("service has kernels running for 50 % of a request: best-effort work fits between");
});
