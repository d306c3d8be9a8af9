import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Name, sequence, sequences } from "../../../test/agent/steps/sequences.ts";
import { clearGap, clearGaps } from "./clear-gap.ts";
import { divide, noStep, type Step } from "./divide.ts";
import { kindsOf } from "./kinds.ts";
import { recognise } from "./recognise.ts";

const bursts = (name: Name, { count = 600, seed = 1 } = {}) =>
  sequence(count, sequences[name], seed);

function stepsOf(name: Name): readonly Step[] {
  const shape = recognise(bursts(name));
  if (!shape) throw new Error(`${name} has no steps`);
  return divide(bursts(name), shape, noStep).steps;
}

const medianMs = (steps: readonly Step[], of = ({ begin, end }: Step) => end - begin) =>
  (Float64Array.from(steps.map(of)).sort()[steps.length >> 1] ?? 0) / 1e6;

describe("steps are recognised in", () => {
  test.each([
    { name: "decode", short: 3, trailing: 1, ms: 17.3 },
    { name: "engine", short: 3, trailing: 1, ms: 17.3 },
    { name: "eager", short: 1, trailing: 0, ms: 6.11 },
    { name: "eager with a copy out", short: 1, trailing: 1, ms: 6.11 },
    { name: "training", short: 3, trailing: 1, ms: 80.3 },
    { name: "diffusion", short: 1, trailing: 1, ms: 31.1 },
    { name: "generate", short: 1, trailing: 0, ms: 15.2 },
    { name: "image", short: 2, trailing: 0, ms: 710 },
  ] as const)("$name: $short short bursts, $trailing of them last", ({ name, ms, ...shape }) => {
    expect(recognise(bursts(name))).toMatchObject(shape);
    const median = medianMs(stepsOf(name));
    expect(median).toBeGreaterThan(0.98 * ms);
    expect(median).toBeLessThan(1.02 * ms);
  });

  test("whatever the seed", () => {
    const recognised = fc.property(
      fc.integer({ min: 1, max: 1e6 }),
      (seed) =>
        recognise(bursts("engine", { seed }))?.short === 3 &&
        recognise(bursts("generate", { seed }))?.short === 1,
    );
    fc.assert(recognised, { numRuns: 40 });
  });

  test("a service whose start-up was something else, by the 14th of its steps", () => {
    const before = bursts("bursts of any length", { count: 900 });
    const images = bursts("image", { count: 60 });
    const seen = (count: number) => recognise([...before, ...images.slice(0, count)]);
    expect(seen(41)).toBeUndefined();
    expect(seen(42)?.short).toBe(2);
  });

  test("an engine beside best-effort work, though its short bursts wait for chunks", () => {
    const disturbed = bursts("engine").map((burst, n) => {
      const later = n % 3 === 0 ? 2e6 : 0;
      return { ...burst, begin: burst.begin, end: burst.end + (burst.launches === 0 ? later : 0) };
    });
    const shape = recognise(bursts("engine"));
    expect(shape).toBeDefined();
    const { steps } = divide(inOrder(disturbed), shape as NonNullable<typeof shape>, noStep);
    expect(steps.length).toBe(stepsOf("engine").length);
  });
});

/** None begins before the one before has ended. */
function inOrder(bursts: ReturnType<typeof sequence>) {
  let late = 0;
  let last = 0;
  return bursts.map((burst) => {
    late = Math.max(late, last - burst.begin, 0);
    last = burst.end + late;
    return { ...burst, begin: burst.begin + late, end: last };
  });
}

describe("there are no steps in", () => {
  test.each([
    "one burst",
    "one burst back to back",
    "bursts of any length",
    "bursts of exponential length",
    "short and long requests",
    "mostly short requests",
    "mostly long requests",
    "other work beside",
  ] as const)("%s", (name) => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e6 }),
        fc.constantFrom(30, 45, 60, 100, 600),
        (seed, count) => recognise(bursts(name, { seed, count })) === undefined,
      ),
      { numRuns: 150 },
    );
  });

  test("too few bursts, or none", () => {
    expect(recognise([])).toBeUndefined();
    expect(recognise(bursts("decode", { count: 52 }))).toBeUndefined();
    expect(recognise(bursts("decode", { count: 56 }))).toBeDefined();
  });
});

describe("a step", () => {
  test("has its bursts, the time in them, what waited in them and what they launched", () => {
    const [, step] = stepsOf("decode");
    expect(step).toMatchObject({ bursts: 4, launches: 10 });
    const { begin = 0, end = 0, active = 0, waited = 0 } = step ?? {};
    expect(end - begin - active).toBeGreaterThan(100e3);
    expect(end - begin - active).toBeLessThan(500e3);
    expect(waited / active).toBeCloseTo(0.8, 5);
  });

  test("holds no idle time between requests", () => {
    for (const name of ["eager", "eager with a copy out"] as const)
      for (const { begin, end } of stepsOf(name)) expect(end - begin).toBeLessThan(7e6);
  });

  test("is the same however few bursts come at a time", () => {
    const all = bursts("engine");
    const shape = recognise(all);
    if (!shape) throw new Error("no steps");
    const whole = divide(all, shape, noStep).steps;
    let open = noStep;
    const pieces = all.flatMap((burst) => {
      const divided = divide([burst], shape, open);
      open = divided.open;
      return divided.steps;
    });
    expect(pieces).toEqual(whole);
  });

  test("is never made of more than a few short bursts and a long one, whatever comes", () => {
    const shape = recognise(bursts("decode"));
    if (!shape) throw new Error("no steps");
    for (const name of Object.keys(sequences) as Name[])
      for (const step of divide(bursts(name), shape, noStep).steps)
        expect(step.bursts).toBeLessThanOrEqual(4 * shape.short + 2);
  });

  test("is dropped where its long burst never comes", () => {
    const shape = recognise(bursts("decode"));
    if (!shape) throw new Error("no steps");
    const polling = sequence(500, () => [{ length: 20, launches: 0, gap: 100 }]);
    expect(divide(polling, shape, noStep).steps).toEqual([]);
  });
});

describe("kinds of steps", () => {
  test("are distinguished by what they launch, though prompts take any time", () => {
    const [tokens = [], prompts = [], ...more] = kindsOf(stepsOf("engine"));
    expect(more).toEqual([]);
    expect(tokens.every(({ launches }) => launches < 20)).toBe(true);
    expect(prompts.every(({ launches }) => launches > 900)).toBe(true);
    expect(prompts.length / tokens.length).toBeGreaterThan(0.05);
    expect(prompts.length / tokens.length).toBeLessThan(0.2);
  });

  test("are distinguished by their time where all launch as much", () => {
    const eager = stepsOf("engine").map((step) => ({ ...step, launches: 700 }));
    const [tokens = [], prompts = []] = kindsOf(eager);
    expect(medianMs(tokens)).toBeLessThan(20);
    expect(Math.min(...prompts.map(({ begin, end }) => end - begin))).toBeGreaterThan(25e6);
  });

  test.each(["decode", "eager", "training"] as const)("are one in %s", (name) => {
    expect(kindsOf(stepsOf(name))).toHaveLength(1);
  });

  test("of no steps are none", () => {
    expect(kindsOf([])).toEqual([[]]);
  });
});

describe("a clear gap", () => {
  test("is where hardly anything is, at the middle of it", () => {
    const numbers = [...Array(50).fill(2), ...Array(50).fill(18), 6];
    expect(clearGap(numbers, 3, 0.02)).toEqual({ threshold: 6, below: 50 });
    expect(clearGap(numbers, 10, 0.02)).toBeUndefined();
  });

  test("comes after those that are wider", () => {
    const numbers = [...Array(50).fill(1), ...Array(50).fill(6), ...Array(50).fill(60)];
    const below = clearGaps(numbers, 3, 0.02).map((gap) => gap.below);
    expect(below).toEqual([100, 50]);
    expect(clearGaps(numbers, 7, 0.02)).toHaveLength(1);
  });

  test("is not in numbers that are all the same, and not where there are none", () => {
    expect(clearGap(Array(50).fill(3), 1.5, 0)).toBeUndefined();
    expect(clearGap([], 3, 0)).toBeUndefined();
    expect(clearGap([1], 3, 0)).toBeUndefined();
  });
});
