import { expect, test } from "vitest";
import { mulberry32 } from "#core";
import { fitted, type SeenRequest } from "./fit.ts";

const assumed = { gapMs: 1, batchTokens: 1024, mostSequences: 64, cacheTokens: 65_536 };
const known = { stepMs: 20, perSequenceMs: 0.5, perPromptTokenMs: 0.05 };

/** An engine that reads all prompts that wait in one step, and whose tokens reach the client within a tenth of a millisecond. */
function served(perS: number, seconds: number): SeenRequest[] {
  const random = mulberry32(1);
  const all: { arrivedMs: number; promptTokens: number; left: number; tokensMs: number[] }[] = [];
  for (let at = 0; at < 1000 * seconds; at += (-1000 / perS) * Math.log(1 - random()))
    all.push({ arrivedMs: at, promptTokens: Math.ceil(900 * random()), left: 60, tokensMs: [] });
  for (let now = 0; all.some(({ left }) => left > 0); ) {
    const here = all.filter(({ arrivedMs, left }) => arrivedMs <= now && left > 0);
    if (here.length === 0) {
      now = Math.min(...all.filter(({ left }) => left > 0).map(({ arrivedMs }) => arrivedMs));
      continue;
    }
    const decoding = here.filter(({ tokensMs }) => tokensMs.length > 0);
    const prompts = here.filter(({ tokensMs }) => tokensMs.length === 0);
    const read = prompts.reduce((sum, { promptTokens }) => sum + promptTokens, 0);
    now += assumed.gapMs + known.stepMs;
    now += known.perSequenceMs * decoding.length + known.perPromptTokenMs * read;
    for (const one of here) {
      one.left--;
      one.tokensMs.push(now + 0.1 * random());
    }
  }
  return all;
}

test.each([0.5, 2, 4])("the steps of an engine are found from %d requests a second", (perS) => {
  const shape = fitted(served(perS, 120), assumed);
  expect(shape).toMatchObject(assumed);
  expect(shape?.stepMs).toBeGreaterThan(0.97 * known.stepMs);
  expect(shape?.stepMs).toBeLessThan(1.03 * known.stepMs);
  expect(shape?.perPromptTokenMs).toBeGreaterThan(0.85 * known.perPromptTokenMs);
  expect(shape?.perPromptTokenMs).toBeLessThan(1.15 * known.perPromptTokenMs);
  if (perS > 1) {
    expect(shape?.perSequenceMs).toBeGreaterThan(0.8 * known.perSequenceMs);
    expect(shape?.perSequenceMs).toBeLessThan(1.2 * known.perSequenceMs);
  }
});

test("a few requests tell nothing", () => {
  expect(fitted(served(2, 120).slice(0, 9), assumed)).toBeUndefined();
  expect(fitted([], assumed)).toBeUndefined();
});
