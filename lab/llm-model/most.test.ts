import { expect, test } from "vitest";
import { mostPerS } from "./most.ts";
import { played } from "./played.ts";

const shape = {
  ...{ stepMs: 34, perSequenceMs: 0.3, perContextMs: 1e-4, perPromptTokenMs: 0.08, gapMs: 1.5 },
  ...{ mostSequences: 64, batchTokens: 1024, cacheTokens: 65_536 },
};

test.each([
  { what: "many sequences", change: {}, like: { prompt: 400, output: 100 } },
  { what: "few sequences", change: { mostSequences: 8 }, like: { prompt: 400, output: 100 } },
  { what: "a small cache", change: { cacheTokens: 4000 }, like: { prompt: 400, output: 100 } },
  { what: "long prompts", change: {}, like: { prompt: 4000, output: 20 } },
  { what: "long answers", change: {}, like: { prompt: 50, output: 400 } },
])(
  "an engine with $what serves about as many requests as is said if more come",
  ({ change, like }) => {
    const engine = { ...shape, ...change };
    const most = mostPerS(engine, [like]);
    const traffic = { perS: () => 2 * most, burstiness: 1, like: [like] };
    const { served } = played({
      ...{ shape: engine, traffic, seconds: 120, seed: 1, limits: {}, fixed: "alone" as const },
    });
    const ended = served.filter(({ arrivedMs, e2e }) => arrivedMs + e2e > 60_000);
    expect(ended.length / 60 / most).toBeGreaterThan(0.8);
    expect(ended.length / 60 / most).toBeLessThan(1.1);
  },
);
