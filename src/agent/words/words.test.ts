// The text for people about a GPU and a missed objective, from one status.

import { describe, expect, test } from "vitest";
import { us } from "#core";
import { usualRules } from "#protocol";
import { exampleStatus } from "../../../test/agent/example.ts";
import type { BestEffortStatus, GpuStatus, HighStatus } from "../status/status.ts";
import { causeOf } from "./burst-cause.ts";
import { gpuSentence } from "./gpu-sentence.ts";
import { problemOf } from "./problem.ts";
import { sentencesOn } from "./sentences.ts";

const [gpu] = exampleStatus.gpus;
const [high] = gpu?.high ?? [];
const [bestEffort] = gpu?.bestEffort ?? [];
if (!gpu || !high || !bestEffort) throw new Error("the example has a client of each class");

const serve = (change: Partial<HighStatus> = {}): HighStatus => ({ ...high, ...change });
const train = (change: Partial<BestEffortStatus> = {}): BestEffortStatus => ({
  ...bestEffort,
  hold: undefined,
  ...change,
});
const on = (
  services: readonly HighStatus[],
  trainings: readonly BestEffortStatus[] = [],
): GpuStatus => ({ ...gpu, high: services, bestEffort: trainings, strangers: [] });

const met = { state: "met", level: 2 } as const;
const missed = { state: "missed", level: 0 } as const;

describe("the sentence about a GPU", () => {
  test.each([
    {
      on: on(
        [serve({ slowdown: 0.04, sloSlowdown: 0.1, objective: met })],
        [train({ keptShare: 0.74 })],
      ),
      says: "serve is 4.0 % slower than solo, objective 10 %: met; train retains 74 %.",
    },
    {
      on: on([serve({ slowdown: 0.56, sloSlowdown: 0.1, objective: met })], [train()]),
      says: "serve is 56 % slower than solo, objective 10 %: met on the whole, not in the last 4 s; train retains 90 %.",
    },
    {
      on: on([serve({ slowdown: -0.2, sloP99Us: 5000, objective: missed })], [train()]),
      says: "serve is as fast as solo, objective 5.00 ms p99: missed; train retains 90 %.",
    },
    {
      on: on([serve()], [train({ keptShare: undefined })]),
      says: "serve has a p99 of 4.00 ms; its slowdown is not known yet; what train retains is not known yet.",
    },
    {
      on: on([serve({ burstP99Us: undefined, sloSlowdown: 0.1 })]),
      says: "serve has had no request in the last 4 s, objective 10 %: this policy does not act on it; no best-effort client is here.",
    },
    { on: on([], [train()]), says: "train retains 90 %; no high client is here." },
    { on: on([]), says: "No client is on this GPU." },
  ])("$says", ({ on: shown, says }) => {
    expect(gpuSentence(shown)).toBe(says);
  });

  test("names those first that miss their objective, and counts those that it does not name", () => {
    const many = Array.from({ length: 64 }, (_, i) => serve({ name: `s${i}`, slowdown: 0 }));
    const worst = serve({ name: "worst", slowdown: 1, sloSlowdown: 0.1, objective: missed });
    const said = gpuSentence(
      on(
        [...many, worst],
        Array.from({ length: 4 }, () => train()),
      ),
    );
    expect(said).toMatch(/^worst is 100 % slower than solo, objective 10 %: missed; s0 is/);
    expect(said).toContain("; 62 more services; ");
    expect(said).toContain("; 1 more best-effort client.");
  });
});

test("a pause in which the policy samples solo bursts is no hold by requests", () => {
  const said = (samplingSolo: boolean) =>
    sentencesOn({ ...on([serve()], [train()]), samplingSolo }, exampleStatus.agent).filter((line) =>
      line.startsWith("best-effort work is paused"),
    );
  expect(said(false)).toEqual([]);
  expect(said(true)).toEqual([
    'best-effort work is paused for up to 10 s, while the policy samples bursts of serve solo: "held" counts that, too',
  ]);
});

describe("a missed objective", () => {
  const cause = (client: Partial<HighStatus>, where: Partial<GpuStatus> = {}) =>
    problemOf(serve({ objective: missed, ...client }), { ...on([], [train()]), ...where });

  const chunksOf = (chunkUs: number): Partial<GpuStatus> => ({
    served: { smCount: 4, rules: { ...usualRules, chunkUs: us(chunkUs) } },
  });

  test("that is met, or not judged, has no problem", () => {
    expect(problemOf(serve({ objective: met }), on([]))).toBeUndefined();
    expect(problemOf(serve({ objective: undefined }), on([]))).toBeUndefined();
  });

  test.each([
    {
      why: "an untracked process",
      of: cause({}, { strangers: gpu.strangers }),
      says: "pid 9 other runs on this GPU and is not held back",
      cure: "cotenant run --class best-effort",
    },
    {
      why: "a client that ignores its hold",
      of: cause(
        {},
        { bestEffort: [train({ hold: { usedShare: 1, openShare: 0, trials: 2, ignored: 1 } })] },
      ),
      says: "train (pid 43) does not pause",
      cure: "cotenant why 43",
    },
    {
      why: "no launch that is seen to end",
      of: cause({ sharedShare: 0.3 }),
      says: "took turns with it in 30 % of the time",
      cure: "synchronise",
    },
    {
      why: "work that ran ahead",
      of: cause({ aheadMaxUs: 900 }, { bestEffort: [train({ longestKernelUs: 3000 })] }),
      says: "up to 900 us of best-effort work was queued ahead",
      cure: "kernels of train take up to 3.00 ms",
    },
    {
      why: "chunks that can be shorter",
      of: cause({ aheadMaxUs: 900 }, chunksOf(400)),
      says: "up to 900 us of best-effort work was queued ahead",
      cure: "--set chunkUs=200",
    },
    {
      why: "chunks that are as short as they can be",
      of: cause({ aheadMaxUs: 900 }, chunksOf(50)),
      says: "up to 900 us of best-effort work was queued ahead",
      cure: "chunks of 50 us can hardly be shorter",
    },
    {
      why: "the program's own time",
      of: cause({ aheadMaxUs: 0, burstWaitP99Us: 1000 }),
      says: "of a burst of 4.00 ms it waits 1.00 ms for the GPU",
      cure: "slowdown=",
    },
    {
      why: "an objective below what it takes alone",
      of: problemOf(
        serve({
          objective: { state: "impossible", level: 0 },
          sloP99Us: 1000,
          alone: { p99Us: 3000, waitedP99Us: 2000 },
        }),
        on([]),
      ),
      says: "takes 3.00 ms alone, and the objective is 1.00 ms",
      cure: "state an objective above that",
    },
    {
      why: "nothing that shows",
      of: cause({ aheadMaxUs: 0, burstWaitP99Us: 3900 }),
      says: "show no single cause",
      cure: "state a larger one",
    },
  ])("because of $why has a cause and a cure", ({ of, says, cure }) => {
    expect(of?.cause).toContain(says);
    expect(of?.remedy).toContain(cure);
  });
});

describe("a slow burst", () => {
  const burst = {
    at: 0,
    lastedUs: 10_000,
    waitedUs: 9000,
    aheadUs: 0,
    aheadSlot: undefined,
    beside: false,
    step: false,
  };
  const where = on([], [train({ longestKernelUs: 3000 })]);

  test("behind best-effort work names it, its longest kernel, and whether it stops inside", () => {
    expect(causeOf({ ...burst, aheadUs: 4000, aheadSlot: 1 }, where).cause).toBe(
      "up to 4.00 ms of train was queued ahead (longest kernel so far at::native::reduce_kernel 3.00 ms, long ones with a variant can stop inside)",
    );
    expect(causeOf({ ...burst, aheadUs: 4000, aheadSlot: 5 }, where).cause).toBe(
      "up to 4.00 ms of a best-effort client that has gone was queued ahead",
    );
  });

  test.each([
    { change: { beside: true }, says: "best-effort work could run concurrently" },
    { change: { waitedUs: 1000 }, says: "9.00 ms of it was CPU time of the program" },
    { change: {}, says: "cause unknown" },
  ])("$says", ({ change, says }) => {
    expect(causeOf({ ...burst, ...change }, where).cause).toContain(says);
  });
});

test("an endpoint that costs its server much is said to be asked seldom", () => {
  const engine = serve({
    sloRequests: { ttft: 200_000 },
    requests: {
      ...{ url: "http://127.0.0.1:8000/metrics", unheard: undefined, kinds: [] },
      slow: { everyMs: 10_400, answerMs: 208 },
    },
  });
  expect(sentencesOn(on([engine]), exampleStatus.agent)).toContainEqual(
    expect.stringMatching(
      /^the endpoint of serve \(pid \d+\) takes 208\.00 ms to answer, so it is read every 10\.4 s only, /,
    ),
  );
});

describe("what is said of an engine's requests", () => {
  const ttft = {
    kind: "ttft",
    quantile: "p99",
    ...{
      limitUs: 200_000,
      judgedAtUs: 200_000,
      statedUs: 100_000,
      meanUs: 42_000,
      p50Us: 40_000,
      p99Us: 100_000,
    },
    counts: { values: 3, above: 0, near: 0 },
  } as const;
  const tpot = {
    ...ttft,
    kind: "tpot",
    limitUs: 50_000,
    judgedAtUs: 50_000,
    statedUs: 25_000,
    p99Us: 25_000,
  } as const;
  test.each([
    { kinds: [ttft, tpot], more: {}, says: "ttft has the least headroom" },
    {
      kinds: [ttft, tpot],
      more: { mostStretch: 1.284 },
      says: "ttft has the least headroom: steps may take 1.28 times as long as solo",
    },
    {
      kinds: [ttft, tpot],
      more: { mostStretch: 0.97 },
      says: "ttft has the least headroom: it has no headroom",
    },
    {
      kinds: [ttft],
      more: { mostStretch: 2 },
      says: "ttft: steps may take 2.00 times as long as solo",
    },
  ])("$says", ({ kinds, more, says }) => {
    const engine = serve({
      sloRequests: { ttft: 200_000, tpot: 50_000 },
      requests: { url: "http://127.0.0.1:8000/metrics", unheard: undefined, kinds },
      objective: { state: "learning", level: 3, tightest: "ttft", ...more },
    });
    const said = sentencesOn(on([engine]), exampleStatus.agent);
    expect(said.find((line) => line.startsWith("requests of "))).toMatch(new RegExp(`; ${says}$`));
  });
  test("an engine whose steps are not seen is named, once its requests are heard of", () => {
    const engine = (kinds: readonly (typeof ttft)[]) =>
      serve({
        sloRequests: { ttft: 200_000 },
        requests: { url: "http://127.0.0.1:8000/metrics", unheard: undefined, kinds },
        objective: { state: "met", level: 0, stepless: true },
      });
    const said = (kinds: readonly (typeof ttft)[]) =>
      sentencesOn(on([engine(kinds)]), exampleStatus.agent).filter((line) =>
        line.includes("no best-effort work runs during its requests"),
      );
    expect(said([])).toEqual([]);
    expect(said([ttft])).toEqual([expect.stringContaining("cotenant up --policy slo")]);
  });
});
