import { expect, test } from "vitest";
import type { MeteredHigh, SeenHigh } from "./contract/policy.ts";
import { recommendMode } from "./recommend.ts";
import { requestLimits } from "./requests/requests.ts";

const client = (more: Partial<SeenHigh>): SeenHigh => ({
  name: "service",
  burstP50Us: undefined,
  ...more,
});
const modeOf = (...high: Partial<SeenHigh>[]) => recommendMode({ high: high.map(client) })?.mode;

test.each([
  {
    name: "a long request that keeps the GPU busy",
    high: { soloUs: 3100, gpuShare: 0.95 },
    mode: "isolated",
  },
  { name: "the same without a profile", high: { burstP50Us: 3100 }, mode: "isolated" },
  { name: "a short one", high: { soloUs: 1250, gpuShare: 0.95 }, mode: "mps" },
  { name: "one that is bound by launching", high: { soloUs: 4000, gpuShare: 0.5 }, mode: "mps" },
  {
    name: "an engine with many short bursts beside the long one of each step",
    high: { burstP50Us: 36, burstByTimeUs: 18_000 },
    mode: "isolated",
  },
  {
    name: "one that is seen to be limited by its CPU",
    high: { burstP50Us: 16_000, leavesGaps: true },
    mode: "mps",
  },
  {
    name: "one whose profile says otherwise",
    high: { burstP50Us: 16_000, leavesGaps: true, gpuShare: 0.9 },
    mode: "isolated",
  },
  { name: "one that nothing is known of", high: {}, mode: undefined },
])("$name: $mode", ({ high, mode }) => {
  expect(modeOf(high)).toBe(mode);
});

test("where a client works in steps, the reason is about a step", () => {
  const reasonOf = (more: Partial<SeenHigh>) =>
    recommendMode({ high: [client({ burstP50Us: 18_000, ...more })] })?.reason;
  expect(reasonOf({ inSteps: true })).toContain("a step of service takes 18 ms");
  expect(reasonOf({})).toContain("a request of service takes 18 ms");
  expect(reasonOf({ inSteps: true, soloUs: 900 })).toContain("a request of service takes 0.9 ms");
});

test("an engine with an objective for its requests has more room side by side", () => {
  const limited = { p99Us: undefined, slowdown: undefined, requests: requestLimits({ tpot: 1e4 }) };
  const engine = { burstP50Us: 18_000, inSteps: true };
  const modeWith = (objective: MeteredHigh["objective"], more = engine) =>
    recommendMode({ high: [{ ...client(more), objective }] });
  expect(modeWith(limited)).toEqual({
    mode: "mps",
    reason:
      "service works in steps of 18 ms and has an objective for its requests, which leaves more to best-effort work side by side than in turns",
  });
  expect(modeWith({ ...limited, requests: undefined })?.mode).toBe("isolated");
  expect(modeWith(undefined)?.mode).toBe("isolated");
});

test("mps must suit everybody", () => {
  expect(modeOf({ soloUs: 1250 }, { soloUs: 10_000 })).toBe("isolated");
  expect(modeOf({ soloUs: 1250 }, {}, { soloUs: 900 })).toBe("mps");
  expect(modeOf()).toBeUndefined();
  expect(recommendMode({ high: [client({})] })).toBeUndefined();
});

test("below 75 % of its time in kernels a request leaves gaps, and 9 % of it is what MPS costs", () => {
  expect(modeOf({ soloUs: 4000, gpuShare: 0.75 })).toBe("isolated");
  expect(modeOf({ soloUs: 4000, gpuShare: 0.74 })).toBe("mps");
  expect(modeOf({ soloUs: 1540, gpuShare: 0.9 })).toBe("mps");
  expect(modeOf({ soloUs: 1570, gpuShare: 0.9 })).toBe("isolated");
  // The profile's time goes before the one that was seen co-located.
  expect(modeOf({ soloUs: 1540, burstP50Us: 9000 })).toBe("mps");
});

test.each([
  {
    high: { soloUs: 4000, gpuShare: 0.5 },
    reason: "service has kernels running for 50 % of a request: best-effort work fits between",
  },
  {
    high: { soloUs: 1250 },
    reason: "a request of service takes 1.3 ms, of which a change of contexts would be 11 %",
  },
  {
    high: { burstP50Us: 16_000, leavesGaps: true, inSteps: true },
    reason:
      "service waits for the GPU in a small part of a step: best-effort work fits between its kernels",
  },
  {
    high: { burstP50Us: 3100 },
    reason:
      "a request of service takes 3.1 ms and keeps the GPU busy: side by side would cost it more than turns",
  },
  {
    high: { burstP50Us: 144_900 },
    reason:
      "a request of service takes 140 ms and keeps the GPU busy: side by side would cost it more than turns",
  },
])("the reason names the client and the figure: $reason", ({ high, reason }) => {
  expect(recommendMode({ high: [client(high)] })?.reason).toBe(reason);
});
