import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseArrivals } from "#load";
import { bodyOf } from "./body.ts";
import { type PlanOptions, planOf, unevenness } from "./plan.ts";

const options: PlanOptions = {
  traffic: {
    arrivals: parseArrivals("poisson", 5),
    prompt: { mean: 100, cv: 1 },
    output: { mean: 50, cv: 1 },
  },
  omit: 2,
  seconds: 20,
  maxPrompt: undefined,
  maxOutput: undefined,
  seed: 1,
};
const plan = (more: Partial<PlanOptions> = {}) =>
  planOf({ ...options, ...more }, (path) => readFileSync(path, "utf8"));
const open = (more: Partial<PlanOptions> = {}) => {
  const made = plan(more);
  if (!("requests" in made)) throw new Error("a closed loop");
  return made;
};
const trace = { path: "test/data/azure/llm-2023-conv-30.csv", rate: undefined, from: 0 };

describe("an open loop", () => {
  test("is the same for a seed, and another one for another seed", () => {
    expect(open().requests).toEqual(open().requests);
    expect(open({ seed: 2 }).requests).not.toEqual(open().requests);
  });

  test("has the lengths of another rate in the same order", () => {
    const lengths = (rate: number) =>
      open({
        traffic: { ...options.traffic, arrivals: parseArrivals("poisson", rate) },
      } as Partial<PlanOptions>)
        .requests.slice(0, 20)
        .map(({ prompt, output }) => [prompt, output]);
    expect(lengths(50)).toEqual(lengths(5));
  });

  test("goes on for the omitted seconds and those that count", () => {
    const { requests, omit, seconds } = open();
    expect({ omit, seconds }).toEqual({ omit: 2, seconds: 20 });
    expect(requests.at(-1)?.offset).toBeGreaterThan(15e9);
    expect(requests.every(({ offset }) => offset < 22e9)).toBe(true);
  });

  test("that has no request after the omitted seconds is refused", () => {
    expect(() => plan({ traffic: { trace }, omit: 1000 })).toThrow(
      "No request arrives after the first 1000 s, which are omitted.",
    );
  });
});

test("a trace whose part has another rate than the whole is called uneven", () => {
  const rows = [
    ...Array.from({ length: 20 }, (_, i) => 10 * i),
    ...Array.from({ length: 380 }, () => 399),
  ];
  const text = ["Timestamp,Request tokens,Response tokens", ...rows.map((s) => `${s},9,9`)].join(
    "\n",
  );
  const of = (seconds: number | undefined, rate: number) => {
    const trace = { path: "t.csv", rate, from: 0 };
    const common = { omit: 0, maxPrompt: undefined, maxOutput: undefined, seed: 1 };
    const plan = planOf({ ...common, traffic: { trace }, seconds }, () => text);
    return unevenness(plan, { trace: "t.csv", rate });
  };
  expect(of(200, 1)).toBe(
    "t.csv is uneven: the 200 s that are sent hold 20 requests, 0.10 a second, although the whole trace has 1 in the mean. --from and --seconds choose another part.",
  );
  expect(of(undefined, 1)).toBeUndefined();
});

test("a trace brings its own times and lengths, which may be cut", () => {
  const { requests, seconds } = open({
    traffic: { trace },
    omit: 0,
    seconds: undefined,
    maxPrompt: 380,
    maxOutput: 100,
  });
  expect(requests).toHaveLength(30);
  expect(requests.slice(0, 2)).toEqual([
    { offset: 0, prompt: 374, output: 44 },
    { offset: 4_314_579_000, prompt: 380, output: 100 },
  ]);
  expect(plan({ traffic: { trace }, omit: 0, seconds: 5 })).toMatchObject({ seconds: 5 });
  expect(seconds * 1e9).toBeCloseTo(requests.at(-1)?.offset ?? 0);
});

test("a closed loop has no times", () => {
  const closed = plan({
    traffic: { ...options.traffic, arrivals: { kind: "closed" } } as PlanOptions["traffic"],
  });
  if (!("next" in closed)) throw new Error("an open loop");
  expect([closed.next(), closed.next()]).toMatchObject([{ offset: 0 }, { offset: 0 }]);
});

describe("a prompt", () => {
  const asked = { offset: 0, prompt: 7, output: 3 };
  const body = (index: number, more = {}) =>
    JSON.parse(
      bodyOf(asked, index, {
        api: "completions",
        prompts: "ids",
        model: "m",
        stopAtEos: false,
        promptSeed: 1,
        ...more,
      }),
    );

  test("has the length asked for and differs between requests", () => {
    expect(body(0)).toMatchObject({
      model: "m",
      max_tokens: 3,
      ignore_eos: true,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(body(0).prompt).toHaveLength(7);
    expect(body(0)).toEqual(body(0));
    expect(body(0).prompt).not.toEqual(body(1).prompt);
    expect(body(0).prompt).not.toEqual(body(0, { promptSeed: 2 }).prompt);
  });

  test("is of words for a server that takes no ids, and for a chat", () => {
    expect(body(0, { prompts: "words" }).prompt.split(" ")).toHaveLength(7);
    const chat = body(0, { api: "chat", stopAtEos: true });
    expect(chat.messages[0].content.split(" ")).toHaveLength(7);
    expect(chat).not.toHaveProperty("ignore_eos");
    expect(chat).not.toHaveProperty("prompt");
  });
});
