import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseTrace, type Trace, traceRequests, traceSchedule } from "./trace.ts";

const llm = `TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:04.0319600,3180,8
2023-11-16 18:17:04.0781490,110,27
`;
const stamps: Trace = { path: "llm.csv", column: "TIMESTAMP", unit: "iso" };

const vision = `client,model,t_ms
a,resnet,100
a,resnet,350
b,vgg,0
b,vgg,600
`;
const clients: Trace = { path: "vision.csv", column: "t_ms", unit: "ms" };
const of = (value: string) => ({ column: "client", value });

describe("times", () => {
  test("may be timestamps, to the last digit", () => {
    expect(traceSchedule(llm, stamps)).toEqual({
      offsets: [0, 52_000_000, 98_189_000],
      seconds: 0.098189,
    });
  });

  test("with a zone are the same instant elsewhere", () => {
    const text =
      "at\n2023-11-16T18:00:00Z\n2023-11-16T20:00:00.5+02:00\n2023-11-16 17:00:01 -0100\n";
    const { offsets } = traceSchedule(text, { ...stamps, column: "at" });
    expect(offsets).toEqual([0, 5e8, 1e9]);
  });

  test.each([
    ["s", "1700158623.5", "1700158624.75", 1.25e9],
    ["ms", "0", "1e3", 1e9],
    ["us", "7.5", "8", 500],
    ["ns", "40", "41", 1],
  ] as const)("may be in %s", (unit, first, second, gap) => {
    const text = `at\n${first}\n${second}\n`;
    expect(traceSchedule(text, { path: "t", column: "at", unit }).offsets).toEqual([0, gap]);
  });

  test("need no order, and the file no last line break", () => {
    const text = "t_ms,client\r\n30,a\r\n\r\n10,a\r\n20,a";
    expect(traceSchedule(text, clients).offsets).toEqual([0, 10e6, 20e6]);
  });

  test("are found behind quoted fields", () => {
    const text = 'client,t_ms\n"a, the ""first""",5\nb,"7"\n';
    expect(traceSchedule(text, clients).offsets).toEqual([0, 2e6]);
    expect(traceSchedule(text, { ...clients, where: of('a, the "first"') }).offsets).toEqual([0]);
  });
});

describe("a window", () => {
  test("of several clients is one stretch of time", () => {
    expect(traceSchedule(vision, { ...clients, where: of("a") })).toEqual({
      offsets: [100e6, 350e6],
      seconds: 0.6,
    });
    const window = { ...clients, from: 0.1, seconds: 0.5 };
    expect(traceSchedule(vision, { ...window, where: of("a") }).offsets).toEqual([0, 250e6]);
    expect(traceSchedule(vision, window)).toEqual({ offsets: [0, 250e6], seconds: 0.5 });
  });

  test("without an end holds the last row", () => {
    expect(traceSchedule(vision, { ...clients, from: 0.3 })).toEqual({
      offsets: [50e6, 300e6],
      seconds: 0.3,
    });
  });
});

test("time is stretched to the rate asked for, and gaps keep their proportions", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(1e6), { minLength: 2, maxLength: 50 }),
      fc.double({ min: 0.1, max: 1000, noNaN: true }),
      (ms, rate) => {
        fc.pre(Math.max(...ms) > Math.min(...ms));
        const text = `t_ms\n${ms.join("\n")}\n`;
        const plain = traceSchedule(text, clients);
        const scaled = traceSchedule(text, { ...clients, rate });
        expect(scaled.offsets.length / scaled.seconds).toBeCloseTo(rate);
        const factor = scaled.seconds / plain.seconds;
        for (const [i, offset] of scaled.offsets.entries())
          expect(Math.abs(offset - (plain.offsets[i] ?? 0) * factor)).toBeLessThan(1.5);
      },
    ),
  );
});

test("the command line says which rows, and what part of them", () => {
  const text = "a/b.csv?column=t_ms&unit=ms&where=client=x=y&from=10&seconds=2.5";
  expect(parseTrace(text, 40)).toEqual({
    path: "a/b.csv",
    column: "t_ms",
    unit: "ms",
    where: { column: "client", value: "x=y" },
    from: 10,
    seconds: 2.5,
    rate: 40,
  });
});

test.each([
  { text: "?column=a&unit=s", says: "--arrivals trace: lacks a path." },
  { text: "t?column=a&unit=s&colour=b", says: 'A trace has no "colour".' },
  { text: "t?column=a&unit=min", says: "--arrivals trace: needs a unit of s, ms, us, ns, iso." },
  { text: "t?column=a&unit=s&where=b", says: '"b" is not a condition such as client=a.' },
  { text: "t?column=a&unit=s&from=-1", says: '"-1" is no number of seconds for a trace\'s from.' },
])("$text is refused: $says", ({ text, says }) => {
  expect(() => parseTrace(text, undefined)).toThrow(says);
});

test.each([
  { text: "", trace: clients, says: 't_ms" in its first line: ""' },
  { text: "x".repeat(1000), trace: clients, says: `in its first line: "${"x".repeat(200)}…".` },
  { text: "client,t_ms\n\n", trace: clients, says: "vision.csv has no rows below its header." },
  {
    text: vision,
    trace: { ...clients, column: "t_s" },
    says: 'vision.csv has no column "t_s" in its first line: "client,model,t_ms".',
  },
  {
    text: vision,
    trace: { ...clients, where: { column: "tenant", value: "a" } },
    says: 'vision.csv has no column "tenant"',
  },
  {
    text: vision,
    trace: { ...clients, where: of("c"), from: 0.1 },
    says: 'vision.csv has no row whose client is "c" between 0.1 s and its end.',
  },
  {
    text: vision,
    trace: { ...clients, from: 60, seconds: 5 },
    says: "vision.csv has no row between 60 s and 65 s.",
  },
  { text: `${vision}c,vgg\n`, trace: clients, says: "vision.csv, line 6: t_ms is missing." },
  {
    text: "t_ms\n\n5\nsoon\n",
    trace: clients,
    says: 'vision.csv, line 4: t_ms is "soon", not a number of ms.',
  },
  { text: "t_ms\n-5\n", trace: clients, says: "vision.csv, line 2: t_ms is negative (-5)." },
  {
    text: llm.replace("18:17:04.0319600", "25:17:04"),
    trace: stamps,
    says: 'llm.csv, line 3: TIMESTAMP is "2023-11-16 25:17:04", not a timestamp such as',
  },
  {
    text: "t_ms\n5\n5\n",
    trace: { ...clients, rate: 2 },
    says: "vision.csv has all its rows at one instant, so it has no rate to scale.",
  },
])("says in a sentence: $says", ({ text, trace, says }) => {
  expect(() => traceSchedule(text, trace)).toThrow(says);
});

describe("other columns", () => {
  const counts = ["ContextTokens", "GeneratedTokens"];

  test("go with their times, also where rows are out of order", () => {
    const [head, a, b, c] = llm.split("\n");
    const { requests, seconds } = traceRequests(`${[head, c, a, b].join("\n")}\n`, stamps, counts);
    expect(seconds).toBe(0.098189);
    expect(requests).toEqual([
      { offset: 0, counts: [4808, 10] },
      { offset: 52_000_000, counts: [3180, 8] },
      { offset: 98_189_000, counts: [110, 27] },
    ]);
  });

  test("that hold no whole number are refused by line", () => {
    expect(() => traceRequests(llm.replace("3180", "3.5"), stamps, counts)).toThrow(
      'llm.csv, line 3: ContextTokens is "3.5", not a whole number.',
    );
    expect(() => traceRequests(llm, stamps, ["Tokens"])).toThrow('llm.csv has no column "Tokens"');
  });
});
