import { expect, test } from "vitest";
import { study } from "./study.ts";

const shape = {
  ...{ stepMs: 34, perSequenceMs: 0.3, perContextMs: 0, perPromptTokenMs: 0.08, gapMs: 1.5 },
  ...{ mostSequences: 64, batchTokens: 1024, cacheTokens: 65_536 },
};
const traffic = { perS: () => 1.6, burstiness: 1, like: [{ prompt: 400, output: 100 }] };
const studied = (limits?: { ttft?: number; tpot?: number }) =>
  study({ shape, traffic, limits, seconds: 30, seed: 1 }, () => {});

test("without objectives they are twice the TTFT and 1.5 times the TPOT that the engine has alone", () => {
  const { limits, rows } = studied();
  expect(rows.map(({ name }) => name)).toEqual(["alone", "strict", "cotenant", "best fixed share"]);
  const [alone, strict, cotenant, best] = rows;
  // The first seconds count for the limits and not for the row.
  expect(limits.ttft).toBeGreaterThan(1500 * (alone?.ttftMs[1] ?? 0));
  expect(limits.tpot).toBeGreaterThan(1400 * (alone?.tpotMs[1] ?? 0));
  expect(alone?.kept).toBe(0);
  expect(cotenant?.kept).toBeGreaterThan(strict?.kept ?? 1);
  expect(best?.kept).toBeGreaterThan(strict?.kept ?? 1);
  expect(cotenant?.tpotMs[0]).toBeGreaterThan(alone?.tpotMs[0] ?? 0);
  expect(studied()).toEqual({ limits, rows });
});

test("objectives that the engine alone hardly meets leave nothing", () => {
  const { limits, rows } = studied({ tpot: 38_000 });
  expect(limits).toEqual({ tpot: 38_000 });
  const [, strict, cotenant] = rows;
  expect(strict?.broken).toBeGreaterThan(0);
  expect((cotenant?.kept ?? 1) - (strict?.kept ?? 0)).toBeLessThan(0.02);
});
