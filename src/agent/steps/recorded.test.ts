// Steps of an unmodified vLLM 0.22.1, recorded by bench/engine/record-vllm.sh on an H200 (driver 580.159.04): six seconds at
// four requests a second of each arrangement. Llama shapes with dummy weights: 8B for async and async-shared, 1B for the others.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { atTrueEnds, type EngineStep } from "#policy";
import { QueuedSteps } from "./queued-steps.ts";
import { BurstsByLaunches } from "./rare-bursts.ts";
import type { Segment } from "./segment-ring.ts";
import { slicesBetween } from "./slice-ring.ts";

interface Recorded {
  readonly segments: readonly (readonly number[])[];
  readonly slices: readonly (readonly number[])[];
}

function stepsOf(name: string) {
  const file = new URL(`../../../test/data/vllm/${name}.json.gz`, import.meta.url);
  const { segments, slices } = JSON.parse(gunzipSync(readFileSync(file)).toString()) as Recorded;
  const queued = new QueuedSteps();
  const steps = queued.add(
    segments.map(
      ([begin = 0, end = 0, waited = 0, submissions = 0, nodes = 0, main = 0]): Segment => ({
        ...{ begin: 1000 * begin, end: 1000 * end, waited: 1000 * waited },
        ...{ submissions, nodes, main: main === 1 },
      }),
    ),
    false,
  );
  const byLaunches = new BurstsByLaunches();
  byLaunches.add(steps);
  const ran = slices.map(([, began = 0, closed = 0]) => ({
    ...{ begin: 1000 * began, end: 1000 * closed },
  }));
  const { afterLaunches = Number.POSITIVE_INFINITY } = byLaunches.rare ?? {};
  const seen = steps.map(
    ({ begin, end, launches }): EngineStep => ({
      endMs: end / 1e6,
      us: (end - begin) / 1e3,
      slices: slicesBetween(ran, begin, end),
      prefill: launches >= afterLaunches,
    }),
  );
  const mains = segments.filter(([, , , , , main]) => main === 1).length;
  return { queued: queued.has, mains, seen };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

describe.each([
  // vLLM counted as many steps as there were main segments over the whole recording.
  { name: "async", queued: true, decodeMs: [4.7, 5.3], prefills: [15, 35] },
  { name: "async-shared", queued: true, decodeMs: [7.5, 9], prefills: [15, 35] },
  { name: "v2", queued: true, decodeMs: [1.6, 2.2], prefills: [15, 35] },
  // A step launches as much with a prompt as without.
  { name: "eager", queued: true, decodeMs: [8, 9.5], prefills: [0, 0] },
  { name: "sync", queued: false, decodeMs: [1.8, 2.5], prefills: [0, 35] },
  // Its last copy is seen to end by itself, behind each step.
  { name: "speculative", queued: true, decodeMs: [2, 4], prefills: [0, 400] },
])("vLLM, $name", ({ name, queued, decodeMs, prefills }) => {
  const found = stepsOf(name);

  test("each main segment ends a step", () => {
    expect(found.seen).toHaveLength(found.mains);
    expect(found.queued).toBe(queued);
  });

  test("decode steps take as long as the engine's time between tokens", () => {
    const decode = median(found.seen.flatMap(({ prefill, us }) => (prefill ? [] : [us / 1e3])));
    expect(decode).toBeGreaterThan(decodeMs[0] ?? 0);
    expect(decode).toBeLessThan(decodeMs[1] ?? 0);
  });

  test("prefill steps are told by what they launch, where that differs", () => {
    const count = found.seen.filter(({ prefill }) => prefill).length;
    expect(count).toBeGreaterThanOrEqual(prefills[0] ?? 0);
    expect(count).toBeLessThanOrEqual(prefills[1] ?? 0);
  });
});

test("a step that reads a prompt takes longer than one that makes tokens, once their border is where it was", () => {
  const { seen } = stepsOf("async");
  const decode = median(seen.flatMap(({ prefill, us }) => (prefill ? [] : [us])));
  const { steps } = atTrueEnds(undefined, seen, decode, 2600);
  const prefills = steps.filter(({ prefill }) => prefill).map(({ us }) => us);
  expect(median(prefills)).toBeGreaterThan(1.8 * decode);
  const decodes = steps.filter(({ prefill }) => !prefill).map(({ us }) => us);
  expect(Math.max(...decodes)).toBeLessThan(1.6 * decode);
});
