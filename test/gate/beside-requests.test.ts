// Work that the gate lets run concurrently with an active request.
import { describe, expect, test } from "vitest";
import {
  admit,
  admitCopy,
  type GateView,
  type Item,
  type Rules,
  release,
  strict,
} from "./library.ts";

describe("beside a request kernels of the other class", () => {
  const opposite: Rules = {
    ...strict,
    whenActive: 1,
    smLimit: 32,
    maxKernelUs: 100,
    activeAheadUs: 100,
  };
  test.each<{ name: string; highClass: number; item: Partial<Item>; answer: string }>([
    {
      name: "memory beside compute",
      highClass: 1,
      item: { kernelClass: 2, sms: 31 },
      answer: "run",
    },
    {
      name: "compute beside compute waits",
      highClass: 1,
      item: { kernelClass: 1, sms: 31 },
      answer: "high",
    },
    {
      name: "unknown waives the class",
      highClass: 1,
      item: { kernelClass: 0, sms: 31 },
      answer: "run",
    },
    {
      name: "but never the size (strictly fewer SMs)",
      highClass: 1,
      item: { kernelClass: 0, sms: 32 },
      answer: "high",
    },
    {
      name: "an unknown size is the whole GPU",
      highClass: 1,
      item: { kernelClass: 2, sms: 0 },
      answer: "high",
    },
    {
      name: "too long waits",
      highClass: 1,
      item: { kernelClass: 2, sms: 8, expectedUs: 101 },
      answer: "high",
    },
  ])("$name", ({ highClass, item, answer }) => {
    expect(admit(opposite, { highActive: true, highClass }, item)).toBe(answer);
  });
});

describe("beside a request what fits the SMs that its kernel leaves and ends before it", () => {
  const fitting: Rules = { ...strict, isolated: 0, whenActive: 4, activeAheadUs: 20_000 };
  test.each<{ name: string; seen?: Partial<GateView>; item?: Partial<Item>; answer: string }>([
    { name: "just so", answer: "run" },
    { name: "an SM too many", item: { sms: 33 }, answer: "high" },
    { name: "a microsecond too long", item: { expectedUs: 51 }, answer: "high" },
    {
      name: "class does not count",
      seen: { highClass: 1 },
      item: { kernelClass: 1 },
      answer: "run",
    },
    { name: "of unknown size", item: { sms: 0 }, answer: "high" },
    { name: "of unknown duration", item: { known: false }, answer: "high" },
    {
      name: "beside a kernel that nothing is known of",
      seen: { highLeavesSms: 0, highLeftUs: 0 },
      answer: "high",
    },
  ])("$name", ({ seen, item, answer }) => {
    const beside = { highActive: true, highLeavesSms: 32, highLeftUs: 50, ...seen };
    expect(admit(fitting, beside, { expectedUs: 50, sms: 32, ...item })).toBe(answer);
  });
});

test("where all may run concurrently with a request, a copy waits for a copy of its own, and for no kernel", () => {
  const allow = { ...strict, isolated: 0, submission: 1, whenActive: 2, activeAheadUs: 1000 };
  const active = { highActive: true, highCopying: true };
  expect(admit(allow, active, { copy: true })).toBe("high");
  expect(admit(allow, active)).toBe("run");
  expect(admit(allow, { ...active, highCopying: false }, { copy: true })).toBe("run");
  expect(admit(allow, { highCopying: true }, { copy: true })).toBe("run");
});

test("beside a request short kernels of any class, where the rules say so", () => {
  const short: Rules = {
    ...strict,
    isolated: 0,
    whenActive: 3,
    smLimit: 32,
    maxKernelUs: 30,
    activeAheadUs: 60,
  };
  const beside = { highActive: true, highClass: 1 };
  expect(admit(short, beside, { expectedUs: 30, sms: 31, kernelClass: 1 })).toBe("run");
  expect(admit(short, beside, { expectedUs: 31, sms: 31, kernelClass: 2 })).toBe("high");
  expect(admit(short, beside, { expectedUs: 30, sms: 32, kernelClass: 2 })).toBe("high");
});

describe("by iterations", () => {
  const iterations: Rules = { ...strict, isolated: 0, whenActive: 5 };
  test.each<{ name: string; seen: Partial<GateView>; answer: string }>([
    {
      name: "one that was begun is finished beside a request",
      seen: { highActive: true, midIteration: true, aheadUs: 1e6 },
      answer: "run",
    },
    { name: "and in another's turn", seen: { midIteration: true, myTurn: false }, answer: "run" },
    { name: "none is begun beside a request", seen: { highActive: true }, answer: "high" },
    { name: "one is begun on an idle GPU", seen: {}, answer: "run" },
    { name: "and not before the last has ended", seen: { aheadUs: 1 }, answer: "ahead" },
  ])("$name", ({ seen, answer }) => {
    expect(admit(iterations, seen)).toBe(answer);
  });

  test("a pause by the agent stops it in the middle", () => {
    expect(admit({ ...iterations, paused: 1 }, { midIteration: true })).toBe("paused");
  });
});

describe("a chunk concurrent with the request", () => {
  const beside: Rules = { ...strict, isolated: 0, coRunEveryUs: 300 };
  test.each<{ name: string; rules?: Rules; seen?: Partial<GateView>; answer: string }>([
    { name: "is due after this time", answer: "progress" },
    { name: "not in the first of it", seen: { heldUs: 299 }, answer: "high" },
    { name: "nor so soon after the last", seen: { progressedUs: 299 }, answer: "high" },
    { name: "also where contexts take turns", rules: { isolated: 1 }, answer: "progress" },
    {
      name: "but there only in its own turn",
      rules: { isolated: 1 },
      seen: { myTurn: false },
      answer: "high",
    },
    {
      name: "nor in the rest after a request",
      rules: { resumeDelayUs: 150 },
      seen: { highActive: false, idleUs: 100 },
      answer: "high",
    },
    { name: "nor in the agent's pause", rules: { paused: 1 }, answer: "paused" },
  ])("$name", ({ rules, seen, answer }) => {
    const held = { highActive: true, heldUs: 300, progressedUs: 300, ...seen };
    expect(release({ ...beside, ...rules }, held)).toBe(answer);
  });
});

describe("a share of the time beside a request", () => {
  const share: Rules = {
    ...strict,
    coRunSliceUs: 2000,
    coRunEveryUs: 40_000,
    progressAfterUs: 250_000,
    progressEveryUs: 10_000,
  };
  const long = { highActive: true, heldUs: 1e6 };
  test.each<{ name: string; seen?: Partial<GateView>; answer: string }>([
    { name: "is due after this time", seen: { progressedUs: 40_000 }, answer: "progress" },
    { name: "is not added to by minimum progress", seen: { progressedUs: 39_999 }, answer: "high" },
    {
      name: "is counted from the last time, however short the word was set",
      seen: { heldUs: 1, progressedUs: 40_000 },
      answer: "progress",
    },
    {
      name: "leaves minimum progress to who waits for a turn",
      seen: { myTurn: false, progressedUs: 10_000 },
      answer: "progress",
    },
    {
      name: "leaves minimum progress in the rest after a request",
      seen: { highActive: false, idleUs: 0, progressedUs: 10_000 },
      answer: "progress",
    },
  ])("$name", ({ seen, answer }) => {
    expect(release(share, { ...long, ...seen })).toBe(answer);
  });

  test.each<{ name: string; seen: Partial<GateView>; answer: string }>([
    { name: "comes to a young one", seen: { activeUs: 44_999 }, answer: "progress" },
    { name: "not to one that is older", seen: { activeUs: 45_000 }, answer: "high" },
    {
      name: "but once a second to any",
      seen: { activeUs: 45_000, progressedUs: 1e6 },
      answer: "progress",
    },
  ])("that ends with the age of a burst $name", ({ seen, answer }) => {
    const young = { ...share, coRunUntilUs: 45_000 };
    expect(release(young, { ...long, progressedUs: 40_000, ...seen })).toBe(answer);
  });

  test("comes once a second at least, whatever the table says", () => {
    const rare = { ...share, coRunEveryUs: 0xffffffff };
    expect(release(rare, { ...long, progressedUs: 999_999 })).toBe("high");
    expect(release(rare, { ...long, progressedUs: 1_000_000 })).toBe("progress");
  });
});

describe("a request that does not hold best-effort work at its start", () => {
  const later: Rules = { ...strict, isolated: 0, graceUs: 1000 };
  test.each<{ name: string; rules?: Rules; seen?: Partial<GateView>; answer: string }>([
    { name: "lets it run", answer: "run" },
    { name: "until it is so old", seen: { activeUs: 1000 }, answer: "high" },
    {
      name: "but for the resume delay after the last one",
      rules: { resumeDelayUs: 150 },
      seen: { idleUs: 149 },
      answer: "high",
    },
    {
      name: "from the resume delay on",
      rules: { resumeDelayUs: 150 },
      seen: { idleUs: 150 },
      answer: "run",
    },
    { name: "holds it from its start without the rule", rules: { graceUs: 0 }, answer: "high" },
    {
      name: "in its own turn only",
      rules: { isolated: 1 },
      seen: { myTurn: false },
      answer: "turn",
    },
    { name: "and not in the agent's pause", rules: { paused: 1 }, answer: "paused" },
  ])("$name", ({ rules, seen, answer }) => {
    const view = { highActive: true, activeUs: 999, ...seen };
    expect(release({ ...later, ...rules }, view)).toBe(answer);
    expect(admit({ ...later, ...rules }, view)).toBe(answer);
  });

  test("launches one by one up to a chunk meanwhile", () => {
    const launch = { ...later, submission: 1, chunkUs: 200 };
    const young = { highActive: true, activeUs: 10, aheadUs: 180 };
    expect(admit(launch, young, { expectedUs: 20 })).toBe("run");
    expect(admit(launch, young, { expectedUs: 21 })).toBe("ahead");
  });
});

describe("a copy that is queued beside requests", () => {
  const allow: Rules = {
    ...strict,
    whenActive: 2,
    isolated: 0,
    chunkUs: 200,
    submitUs: 10_000,
    progressAfterUs: 250_000,
  };
  test.each([
    { name: "is submitted shortly before it can run", waitedUs: 0, aheadUs: 200, answer: "run" },
    { name: "and not earlier", waitedUs: 9_999, aheadUs: 201, answer: "high" },
    { name: "work before it has submitUs to end", waitedUs: 10_000, aheadUs: 9_000, answer: "run" },
    {
      name: "it waits for a copy of a high client",
      waitedUs: 10_000,
      aheadUs: 0,
      highCopying: true,
      answer: "high",
    },
    {
      name: "but not for ever",
      waitedUs: 250_000,
      aheadUs: 0,
      highCopying: true,
      answer: "progress",
    },
  ])("$name", ({ waitedUs, aheadUs, highCopying = false, answer }) => {
    expect(admitCopy(allow, waitedUs, aheadUs, highCopying)).toBe(answer);
  });
});
