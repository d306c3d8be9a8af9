import { describe, expect, test } from "vitest";
import { requestLimits } from "../requests/requests.ts";
import {
  objectiveTexts,
  parseObjective,
  parseRequestObjective,
  sameObjective,
} from "./objective.ts";

test.each([
  { texts: [], is: { p99Us: undefined, slowdown: undefined } },
  { texts: ["p99=10ms"], is: { p99Us: 10_000, slowdown: undefined } },
  { texts: ["slowdown=5%", "p99=800us"], is: { p99Us: 800, slowdown: 0.05 } },
  { texts: ["p99=1us", "slowdown=0.1%"], is: { p99Us: 1, slowdown: 0.001 } },
  { texts: ["p99=3600s", "slowdown=10000%"], is: { p99Us: 3600e6, slowdown: 100 } },
  { texts: ["slowdown=12.25%"], is: { p99Us: undefined, slowdown: 0.1225 } },
  {
    texts: ["ttft.p99=200ms", "tpot.p99=50ms", "e2e.p99=30s", "p99=1s"],
    is: {
      p99Us: 1e6,
      slowdown: undefined,
      requests: requestLimits({ ttft: 200_000, tpot: 50_000, e2e: 30e6 }),
    },
  },
])("$texts", ({ texts, is }) => {
  expect(parseObjective(texts)).toEqual(is);
});

test.each([
  { text: "p99", says: '--slo p99: "" is not a time such as 200us, 10ms, 2s, 3min or 1h.' },
  {
    text: "p99=ten",
    says: '--slo p99=ten: "ten" is not a time such as 200us, 10ms, 2s, 3min or 1h.',
  },
  { text: "p99=10", says: '--slo p99=10: "10" is not a time such as 200us, 10ms, 2s, 3min or 1h.' },
  { text: "p99=10ms=5ms", says: '--slo p99=10ms=5ms: "10ms=5ms" is not a time' },
  { text: "p99=0ms", says: '--slo p99=0ms: "0ms" is not from 1us to 3600s.' },
  { text: "p99=5000s", says: '--slo p99=5000s: "5000s" is not from 1us to 3600s.' },
  { text: "slowdown=5", says: '--slo slowdown=5: "5" is not a percentage such as 5%.' },
  { text: "slowdown=-5%", says: '--slo slowdown=-5%: "-5%" is not a percentage such as 5%.' },
  { text: "slowdown=a5%", says: '--slo slowdown=a5%: "a5%" is not a percentage such as 5%.' },
  { text: "slowdown=5%x", says: '--slo slowdown=5%x: "5%x" is not a percentage such as 5%.' },
  { text: "slowdown=5.%", says: '--slo slowdown=5.%: "5.%" is not a percentage such as 5%.' },
  { text: "slowdown=10001%", says: '"10001%" is not from 0.1% to 10000%.' },
  { text: "p99=0us", says: '"0us" is not from 1us to 3600s.' },
  { text: "slowdown=0%", says: '--slo slowdown=0%: "0%" is not from 0.1% to 10000%.' },
  {
    text: "latency=5ms",
    says: '--slo: "latency=5ms" is neither p99=TIME nor slowdown=PERCENT, nor',
  },
  {
    text: "",
    says: '--slo: "" is neither p99=TIME nor slowdown=PERCENT, nor ttft|tpot|itl|e2e.p50|p90|p95|p99|mean=TIME',
  },
  { text: "ttft=5ms", says: '--slo: "ttft=5ms" is neither' },
  { text: "tpot.p99=fast", says: '--slo tpot.p99=fast: "fast" is not a time' },
  { text: "e2e.p99=0us", says: '--slo e2e.p99=0us: "0us" is not from 1us to 3600s.' },
])('a person is told what is wrong with "$text"', ({ text, says }) => {
  expect(() => parseObjective([text])).toThrow(says);
});

test("an objective that is stated twice is refused, as it is not said which one counts", () => {
  expect(() => parseObjective(["p99=10ms", "slowdown=5%", "p99=20ms"])).toThrow(
    "--slo: p99 is stated twice.",
  );
  expect(() => parseObjective(["ttft.p99=1s", "ttft.p99=2s"])).toThrow("ttft is stated twice");
});

test("of requests a quantile or a mean is stated, one of each kind of times", () => {
  expect(parseObjective(["ttft.p90=1s", "tpot.mean=8ms", "e2e.p99=9s"]).requests).toEqual({
    ttft: { kind: "ttft", quantile: "p90", limitUs: 1e6 },
    tpot: { kind: "tpot", quantile: "mean", limitUs: 8000 },
    e2e: { kind: "e2e", quantile: "p99", limitUs: 9e6 },
  });
  expect(() => parseObjective(["ttft.p50=1s", "ttft.p99=2s"])).toThrow("ttft is stated twice");
  expect(() => parseObjective(["ttft.p75=1s"])).toThrow('--slo: "ttft.p75=1s" is neither');
});

test("the texts of an objective make the same objective", () => {
  const all = parseObjective(["e2e.mean=30s", "slowdown=12.5%", "ttft.p95=200ms", "p99=1ms"]);
  expect(objectiveTexts(all)).toEqual([
    "p99=1ms",
    "slowdown=12.5%",
    "ttft.p95=200ms",
    "e2e.mean=30s",
  ]);
  expect(objectiveTexts(parseObjective(["p99=1500us"]))).toEqual(["p99=1500us"]);
  expect(parseObjective(objectiveTexts(all))).toEqual(all);
  expect(objectiveTexts(parseObjective([]))).toEqual([]);
});

test("objectives are the same if they state the same", () => {
  const one = parseObjective(["ttft.p99=1s", "tpot.p99=50ms"]);
  expect(sameObjective(one, parseObjective(["tpot.p99=50ms", "ttft.p99=1000ms"]))).toBe(true);
  expect(sameObjective(one, parseObjective(["ttft.p99=1s"]))).toBe(false);
  expect(sameObjective(undefined, parseObjective([]))).toBe(true);
  expect(sameObjective(undefined, one)).toBe(false);
});

describe("an objective about requests, for a load generator", () => {
  test.each([
    { text: "ttft.p99=200ms", is: { kind: "ttft", quantile: "p99", limitUs: 200_000 } },
    { text: "tpot.p50=20ms", is: { kind: "tpot", quantile: "p50", limitUs: 20_000 } },
    { text: "e2e.p95=5s", is: { kind: "e2e", quantile: "p95", limitUs: 5e6 } },
    { text: "itl.mean=8ms", is: { kind: "itl", quantile: "mean", limitUs: 8000 } },
  ])("$text", ({ text, is }) => {
    expect(parseRequestObjective(text)).toEqual(is);
  });

  test.each(["ttft=1s", "ttft.p0=1s", "ttft.p100=1s", "p99=10ms", "wait.p99=1s", "ttft.p99.p9=1s"])(
    "%s is none",
    (text) => {
      expect(() => parseRequestObjective(text)).toThrow(
        `--slo: "${text}" is no objective for LLM requests.`,
      );
    },
  );

  test("a limit that is no time is refused with the objective's name", () => {
    expect(() => parseRequestObjective("ttft.p99=fast")).toThrow("--slo ttft.p99=fast");
  });
});
