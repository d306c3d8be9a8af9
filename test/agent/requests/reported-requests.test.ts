// Requests that a program reports, as its slot has them: what an objective learns of them, and what is shown.
import { describe, expect, onTestFinished, test } from "vitest";
import { renderMetrics, ServedGpu, sentencesOn, Watch } from "#agent";
import { ms, nanos } from "#core";
import { type Policy, parseObjective, policyNamed, type RequestSample } from "#policy";
import { applicant, exampleStatus } from "../example.ts";
import { blindSensor, HandClock } from "../fakes.ts";
import { writeTimes } from "../steps/slots.ts";

const identity = { uuid: new Uint8Array(16), name: "soft", smCount: 4 };

/** `slo`: the texts of its objective. */
function service(...slo: string[]) {
  const gpu = new ServedGpu(identity, 1);
  onTestFinished(() => gpu.close());
  gpu.take(applicant({ class: "high", name: "llm", objective: parseObjective(slo) }), nanos(0));
  const [slot] = gpu.region.memory.high;
  if (!slot) throw new Error("no slot");
  let seen: RequestSample | undefined;
  const policy: Policy = {
    ...policyNamed("strict"),
    remember({ high }) {
      seen = high[0]?.requests;
      return { level: 0, pausedUntilMs: undefined, clients: new Map() };
    },
  };
  const clock = new HandClock();
  const watch = new Watch({
    ...{ tenants: false, isolated: true, policy, overrides: {}, sensor: blindSensor, clock },
  });
  const shown = () => {
    const [found] = watch.statuses.of([gpu]);
    const [high] = found?.high ?? [];
    if (!found || !high) throw new Error("no client");
    return { found, high };
  };
  return {
    slot,
    /** The policy's sample a quarter of a second later. */
    look() {
      clock.advance(ms(250));
      watch.lookAndDecide([gpu]);
      return seen;
    },
    high: () => shown().high,
    said: () => sentencesOn(shown().found, exampleStatus.agent).join("\n"),
    metrics: () => renderMetrics({ ...exampleStatus, gpus: [shown().found] }),
  };
}

const limits = ["ttft.p99=200ms", "tpot.p99=50ms"];

describe("an objective about requests of a program without an endpoint", () => {
  test("is not judged until the program reports one, and says what is missing", () => {
    const llm = service(...limits);
    expect(llm.look()).toBeUndefined();
    expect(llm.high().requests).toMatchObject({ url: "", kinds: [] });
    expect(llm.high().requests?.unheard).toContain("it has not reported one yet");
  });

  test("is judged by each value, as exactly as it is stated", () => {
    const llm = service(...limits);
    writeTimes(llm.slot, "ttft", 10);
    writeTimes(llm.slot, "tpot", 10);
    expect(llm.look()).toEqual({ ttft: none, tpot: none, itl: none });
    writeTimes(llm.slot, "ttft", 149, 7);
    writeTimes(llm.slot, "ttft", 155, 5);
    writeTimes(llm.slot, "ttft", 198, 1);
    writeTimes(llm.slot, "ttft", 202, 2);
    writeTimes(llm.slot, "e2e", 9000, 2);
    const seen = llm.look();
    expect(seen).toEqual({ ttft: counts(15, 2, 8), tpot: none, itl: none });
    const sumMs = 7 * 149 + 5 * 155 + 198 + 2 * 202;
    expect((seen?.ttft?.sumUs ?? 0) / 1000 / sumMs).toBeCloseTo(1, 2);
    const each = seen?.ttft?.each ?? [];
    expect(each).toHaveLength(15);
    expect((each.at(-1) ?? 0) / 202_000).toBeCloseTo(1, 2);
    writeTimes(llm.slot, "ttft", 149, 17);
    const many = llm.look()?.ttft;
    expect([many?.values, many?.each]).toEqual([17, undefined]);
    writeTimes(llm.slot, "itl", 30, 4);
    expect(llm.look()).toEqual({ ttft: none, tpot: none, itl: counts(4, 0, 0) });
    expect(llm.look()).toEqual({ ttft: none, tpot: none, itl: none });
    expect(llm.high().requests).toMatchObject({
      unheard: undefined,
      kinds: [{ kind: "ttft", limitUs: 200_000, judgedAtUs: 200_000 }],
    });
    expect(llm.said()).not.toContain("the next bound of its histogram");
  });

  test("is shown by the quantile that is stated", () => {
    const llm = service("ttft.p90=200ms", "e2e.mean=9s");
    writeTimes(llm.slot, "ttft", 10);
    writeTimes(llm.slot, "e2e", 10);
    llm.look();
    writeTimes(llm.slot, "ttft", 100, 89);
    writeTimes(llm.slot, "ttft", 150, 6);
    writeTimes(llm.slot, "ttft", 400, 5);
    writeTimes(llm.slot, "e2e", 1000, 1);
    writeTimes(llm.slot, "e2e", 3000, 1);
    llm.look();
    const [ttft, e2e] = llm.high().requests?.kinds ?? [];
    expect((ttft?.statedUs ?? 0) / 150_000).toBeCloseTo(1, 1);
    expect((e2e?.statedUs ?? 0) / 2e6).toBeCloseTo(1, 1);
    expect(llm.said()).toMatch(/ttft 200\.00 ms p90 and e2e 9\.00 s mean, /);
    expect(llm.said()).toMatch(
      /ttft mean \S+ ms, p90 at most 1[45]\S+ ms, e2e mean (1\.9|2\.0)\S+ s/,
    );
  });

  test("is not judged if one of its kinds never comes", () => {
    const llm = service(...limits);
    writeTimes(llm.slot, "e2e", 900, 20);
    expect(llm.look()).toEqual({ ttft: none, tpot: none, itl: none });
    writeTimes(llm.slot, "e2e", 900, 20);
    expect(llm.look()).toBeUndefined();
    expect(llm.high().requests?.unheard).toBe(
      "40 were reported, and none with a ttft, which cotenant_request_progress reports",
    );
    writeTimes(llm.slot, "ttft", 90);
    writeTimes(llm.slot, "tpot", 9);
    expect(llm.look()).toEqual({ ttft: counts(1, 0, 0), tpot: counts(1, 0, 0), itl: none });
  });

  test("is not led astray by what no program can count", () => {
    const llm = service("e2e.p99=1ms");
    writeTimes(llm.slot, "e2e", 0.5, 3);
    llm.look();
    llm.slot.requestValues = 2 ** 52;
    expect(llm.look()).toEqual({ e2e: none, itl: none });
    llm.slot.requestValues = 5;
    expect(llm.look()).toEqual({ e2e: none, itl: none });
    writeTimes(llm.slot, "e2e", 0.5, 3);
    expect(llm.look()).toEqual({ e2e: counts(3, 0, 0), itl: none });
  });
});

const none = { values: 0, above: 0, near: 0, sumUs: 0 };

/** Whose sum and values are any. */
const counts = (values: number, above: number, near: number) => ({
  ...{ values, above, near },
  sumUs: expect.any(Number),
  each: expect.any(Array),
});

test("requests are shown, also without an objective", () => {
  const llm = service();
  llm.look();
  expect(llm.high().told).toBeUndefined();
  expect(llm.said()).not.toContain("reports");
  writeTimes(llm.slot, "ttft", 30);
  llm.look();
  llm.slot.requestsOpen = 3;
  llm.slot.requestsFailed = 2;
  writeTimes(llm.slot, "ttft", 40, 20);
  writeTimes(llm.slot, "tpot", 18, 20);
  writeTimes(llm.slot, "e2e", 1200, 20);
  for (let i = 0; i < 4; i++) llm.look();
  const { told, requests } = llm.high();
  expect(requests).toBeUndefined();
  expect(told).toMatchObject({ perS: 20, open: 3, failed: 2, forgotten: 0 });
  expect(Object.keys(told?.times ?? {})).toEqual(["ttft", "tpot", "e2e"]);
  expect(told?.times.ttft?.p99Us).toBeCloseTo(40_000, -3);
  expect(llm.said()).toMatch(
    /requests that llm \(pid \d+\) reports: 20.0 a second in the last 4 s, 3 open, 2 failed, ttft p50 \d/,
  );
  for (let i = 0; i < 20; i++) llm.look();
  expect(llm.high().told).toMatchObject({ perS: 0, times: {} });
});

test("their histograms, the open and the failed ones are metrics", () => {
  const llm = service();
  writeTimes(llm.slot, "ttft", 30, 4);
  writeTimes(llm.slot, "tpot", 18, 3);
  llm.slot.requestsFailed = 2;
  llm.look();
  const text = llm.metrics();
  expect(text).toMatch(/cotenant_request_ttft_seconds_count\{.*\} 4\n/);
  expect(text).toMatch(/cotenant_request_ttft_seconds_bucket\{.*le="0.025"\} 0\n/);
  expect(text).toMatch(/cotenant_request_ttft_seconds_bucket\{.*le="0.05"\} 4\n/);
  expect(text).toMatch(/cotenant_request_tpot_seconds_count\{.*\} 3\n/);
  expect(text).toMatch(/cotenant_request_e2e_seconds_count\{.*\} 0\n/);
  expect(text).toMatch(/cotenant_requests_failed_total\{.*\} 2\n/);
  expect(text).toMatch(/cotenant_requests_open\{.*\} 0\n/);
});
