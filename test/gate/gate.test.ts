// The gate and the histogram through the library that the model uses; properties over all inputs.
import fc from "fast-check";
import koffi from "koffi";
import { describe, expect, test } from "vitest";
import { policyNamed } from "#policy";
import { bucketCount, bucketOf, bucketStart, quantile, Settings, view } from "#protocol";
import { native } from "../native.ts";

const library = koffi.load(`${native}/libcotenant-gate.so`);
const releaseOf = library.func("uint32_t cotenant_release(void*, uint64_t*)");
const admitOf = library.func("uint32_t cotenant_admit(void*, uint64_t*, uint32_t*)");
const spentAfterOf = library.func("uint64_t cotenant_spent_after(void*, uint64_t*, uint32_t*)");
const dueAfterOf = library.func("uint64_t cotenant_due_after(void*, uint64_t, uint64_t)");
const closesOf = library.func("uint32_t cotenant_closes(void*, uint32_t*, uint32_t*)");
const hasRoomOf = library.func("uint32_t cotenant_has_room(void*, uint64_t, uint64_t)");
const nativeBucketOf = library.func("uint32_t cotenant_bucket_of(uint64_t)");

const answers = ["run", "trickle", "high", "paused", "turn", "ahead", "paced"] as const;

interface Seen {
  registered: boolean;
  active: boolean;
  highClass: number;
  idleUs: number;
  myTurn: boolean;
  heldUs: number;
  trickledUs: number;
  aheadUs: number;
  kernelsOut: number;
  highLeavesSms: number;
  highLeftUs: number;
  spentUs: number;
  earlyNs: number;
  midIteration: boolean;
  highCopying: boolean;
}
interface Item {
  us: number;
  known: boolean;
  kernelClass: number;
  sms: number;
  copy: boolean;
}
type Rules = Partial<Record<keyof (typeof Settings)["fields"], number>>;

const strict: Rules = policyNamed("strict").rules({ isolated: true, high: [] });
const quiet: Seen = {
  registered: true,
  active: false,
  highClass: 0,
  idleUs: 1e9,
  myTurn: true,
  heldUs: 0,
  trickledUs: 0,
  aheadUs: 0,
  kernelsOut: 0,
  highLeavesSms: 0,
  highLeftUs: 0,
  spentUs: 0,
  earlyNs: 0,
  midIteration: false,
  highCopying: false,
};
const small: Item = { us: 20, known: true, kernelClass: 0, sms: 0, copy: false };

function settings(rules: Rules): Uint8Array {
  const buffer = new ArrayBuffer(Settings.size);
  Object.assign(view(Settings, buffer), rules);
  return new Uint8Array(buffer);
}
const seenWords = (seen: Seen) => BigUint64Array.from(Object.values(seen).map((v) => BigInt(v)));
const itemWords = (item: Item) => Uint32Array.from(Object.values(item).map(Number));

const release = (rules: Rules, seen: Partial<Seen>) =>
  answers[releaseOf(settings(rules), seenWords({ ...quiet, ...seen }))];
const admit = (rules: Rules, seen: Partial<Seen>, item: Partial<Item> = {}) =>
  answers[
    admitOf(settings(rules), seenWords({ ...quiet, ...seen }), itemWords({ ...small, ...item }))
  ];
const closes = (rules: Rules, us: number, launches: number, item: Partial<Item> = {}) =>
  closesOf(settings(rules), Uint32Array.of(us, launches), itemWords({ ...small, ...item })) === 1;

const anyU32 = fc.nat({ max: 0xffffffff });
const anySettings: fc.Arbitrary<Rules> = fc.record(
  Object.fromEntries(Object.keys(Settings.fields).map((name) => [name, anyU32])),
);
const anySeen: fc.Arbitrary<Seen> = fc.record({
  registered: fc.boolean(),
  active: fc.boolean(),
  highClass: fc.nat({ max: 2 }),
  idleUs: fc.nat(),
  myTurn: fc.boolean(),
  heldUs: fc.nat(),
  trickledUs: fc.nat(),
  aheadUs: fc.nat(),
  kernelsOut: fc.nat({ max: 1000 }),
  highLeavesSms: fc.nat({ max: 132 }),
  highLeftUs: fc.nat(),
  spentUs: fc.nat(),
  earlyNs: fc.nat(),
  midIteration: fc.boolean(),
  highCopying: fc.boolean(),
});
const anyItem: fc.Arbitrary<Item> = fc.record({
  us: fc.nat(),
  known: fc.boolean(),
  kernelClass: fc.nat({ max: 2 }),
  sms: fc.nat({ max: 200 }),
  copy: fc.boolean(),
});

describe("what is released", () => {
  test.each<{ name: string; rules?: Rules; seen?: Partial<Seen>; answer: string }>([
    { name: "an idle GPU is free", answer: "run" },
    { name: "an active request holds", seen: { active: true }, answer: "high" },
    {
      name: "nobody to protect: no hold",
      seen: { active: true, registered: false },
      answer: "run",
    },
    { name: "policy off: no hold", rules: { protect: 0 }, seen: { active: true }, answer: "run" },
    { name: "a pause holds an idle GPU", rules: { paused: 1 }, answer: "paused" },
    { name: "another's turn", seen: { myTurn: false }, answer: "turn" },
    {
      name: "side by side there are no turns",
      rules: { isolated: 0 },
      seen: { myTurn: false },
      answer: "run",
    },
    {
      name: "just after a request, with a resume delay",
      rules: { resumeDelayUs: 100 },
      seen: { idleUs: 99 },
      answer: "high",
    },
    {
      name: "the resume delay is over",
      rules: { resumeDelayUs: 100 },
      seen: { idleUs: 100 },
      answer: "run",
    },
    {
      name: "a long pause trickles",
      seen: { active: true, heldUs: 250_000, trickledUs: 10_000 },
      answer: "trickle",
    },
    {
      name: "but not twice within the interval",
      seen: { active: true, heldUs: 250_000, trickledUs: 9_999 },
      answer: "high",
    },
  ])("$name", ({ rules, seen, answer }) => {
    expect(release({ ...strict, ...rules }, seen ?? {})).toBe(answer);
  });

  test("whatever the table says, a pause of a second and a trickle a second old let work go on", () => {
    fc.assert(
      fc.property(anySettings, anySeen, (rules, seen) => {
        const long = { ...seen, heldUs: 1_000_000, trickledUs: 1_000_000 };
        expect(["run", "trickle"]).toContain(release(rules, long));
      }),
    );
  });

  test("and so does every launch, unless it is not due or others must end first", () => {
    fc.assert(
      fc.property(anySettings, anySeen, anyItem, (rules, seen, item) => {
        const long = { ...seen, heldUs: 1_000_000, trickledUs: 1_000_000, earlyNs: 0 };
        const nothingOut = { ...long, aheadUs: 0, kernelsOut: 0 };
        expect(["run", "trickle"]).toContain(admit(rules, nothingOut, item));
      }),
    );
  });

  test("nothing runs beside an active request under `wait`, except the trickle", () => {
    fc.assert(
      fc.property(anySeen, anyItem, (seen, item) => {
        const beside = { ...seen, registered: true, active: true };
        expect(admit(strict, beside, item)).not.toBe("run");
      }),
    );
  });
});

describe("what is admitted, launch by launch", () => {
  test("launch-ahead never passes the limit once something is out", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), fc.nat({ max: 1000 }), (aheadUs, us) => {
        const goes = admit(strict, { aheadUs }, { us }) === "run";
        expect(goes).toBe(aheadUs + us <= 200);
      }),
    );
  });

  test("the longest kernel goes when nothing is out, and an unknown one only then", () => {
    expect(admit(strict, { aheadUs: 0 }, { us: 50_000 })).toBe("run");
    expect(admit(strict, { aheadUs: 0 }, { known: false })).toBe("run");
    expect(admit(strict, { aheadUs: 1 }, { us: 1, known: false })).toBe("ahead");
  });

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
      name: "unknown waives the class, ",
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
      item: { kernelClass: 2, sms: 8, us: 101 },
      answer: "high",
    },
  ])("beside a request: $name", ({ highClass, item, answer }) => {
    expect(admit(opposite, { active: true, highClass }, item)).toBe(answer);
  });
});

describe("beside a request what fits the SMs that its kernel leaves and ends before it", () => {
  const fitting: Rules = { ...strict, isolated: 0, whenActive: 4, activeAheadUs: 20_000 };
  test.each<{ name: string; seen?: Partial<Seen>; item?: Partial<Item>; answer: string }>([
    { name: "just so", answer: "run" },
    { name: "an SM too many", item: { sms: 33 }, answer: "high" },
    { name: "a microsecond too long", item: { us: 51 }, answer: "high" },
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
    const beside = { active: true, highLeavesSms: 32, highLeftUs: 50, ...seen };
    expect(admit(fitting, beside, { us: 50, sms: 32, ...item })).toBe(answer);
  });
});

test("where all may run beside a request, a copy waits for a copy of its own, and for no kernel", () => {
  const allow = { ...strict, isolated: 0, submission: 1, whenActive: 2, activeAheadUs: 1000 };
  const active = { active: true, highCopying: true };
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
  const beside = { active: true, highClass: 1 };
  expect(admit(short, beside, { us: 30, sms: 31, kernelClass: 1 })).toBe("run");
  expect(admit(short, beside, { us: 31, sms: 31, kernelClass: 2 })).toBe("high");
  expect(admit(short, beside, { us: 30, sms: 32, kernelClass: 2 })).toBe("high");
});

describe("by iterations", () => {
  const iterations: Rules = { ...strict, isolated: 0, whenActive: 5 };
  test.each<{ name: string; seen: Partial<Seen>; answer: string }>([
    {
      name: "one that was begun is finished beside a request",
      seen: { active: true, midIteration: true, aheadUs: 1e6 },
      answer: "run",
    },
    { name: "and in another's turn", seen: { midIteration: true, myTurn: false }, answer: "run" },
    { name: "none is begun beside a request", seen: { active: true }, answer: "high" },
    { name: "one is begun on an idle GPU", seen: {}, answer: "run" },
    { name: "and not before the last has ended", seen: { aheadUs: 1 }, answer: "ahead" },
  ])("$name", ({ seen, answer }) => {
    expect(admit(iterations, seen)).toBe(answer);
  });

  test("a pause by the agent stops it in the middle", () => {
    expect(admit({ ...iterations, paused: 1 }, { midIteration: true })).toBe("paused");
  });
});

describe("a budget, Orion's", () => {
  const budget: Rules = { ...strict, isolated: 0, budgetUs: 100 };
  test("is looked at before the kernel is added, active request or not", () => {
    expect(admit(budget, { spentUs: 100, kernelsOut: 3, aheadUs: 100 }, { us: 5000 })).toBe("run");
    expect(admit(budget, { spentUs: 101, kernelsOut: 3, aheadUs: 101 }, { us: 1 })).toBe("ahead");
  });

  test("is full until the last kernel has ended, then empty", () => {
    const spent = (seen: Partial<Seen>, us: number) =>
      Number(
        spentAfterOf(
          settings(budget),
          seenWords({ ...quiet, ...seen }),
          itemWords({ ...small, us }),
        ),
      );
    expect(admit(budget, { spentUs: 101, kernelsOut: 0 })).toBe("run");
    expect(spent({ spentUs: 101, kernelsOut: 0 }, 30)).toBe(30);
    expect(spent({ spentUs: 100, kernelsOut: 0 }, 30)).toBe(130);
    expect(spent({ spentUs: 60, kernelsOut: 2 }, 30)).toBe(90);
  });

  test("lets out no more than itself and one kernel, whatever the durations", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 100 }), (durations) => {
        let spentUs = 0;
        let kernelsOut = 0;
        for (const us of durations) {
          const seen = { spentUs, kernelsOut, aheadUs: spentUs };
          if (admit(budget, seen, { us }) !== "run") {
            kernelsOut = 0;
            continue;
          }
          spentUs = Number(
            spentAfterOf(
              settings(budget),
              seenWords({ ...quiet, ...seen }),
              itemWords({ ...small, us }),
            ),
          );
          kernelsOut++;
          expect(spentUs).toBeLessThanOrEqual(100 + us);
        }
      }),
    );
  });
});

describe("a rate of launches", () => {
  const paced: Rules = { ...strict, isolated: 0, launchEveryNs: 50_000, chunkUs: 20_000 };
  const due = (dueNs: number, nowNs: number) => Number(dueAfterOf(settings(paced), dueNs, nowNs));

  test("a launch that is not due yet waits", () => {
    expect(admit(paced, { earlyNs: 1 })).toBe("paced");
    expect(admit(paced, { earlyNs: 0 })).toBe("run");
    expect(admit({ ...paced, launchEveryNs: 0 }, { earlyNs: 1 })).toBe("run");
  });

  test("over a second there are as many as the rate allows, and those of a millisecond", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 3_000_000 }), { minLength: 500, maxLength: 900 }),
        (pauses) => {
          let now = 5e9;
          let dueNs = 0;
          let launched = 0;
          const from = now;
          for (const pause of pauses) {
            now += pause;
            while (dueNs <= now) {
              dueNs = due(dueNs, now);
              launched++;
            }
          }
          expect(launched).toBeLessThanOrEqual((now - from + 1e6) / 50_000 + 2);
        },
      ),
      { numRuns: 10 },
    );
  });
});

describe("a chunk beside the request", () => {
  const beside: Rules = { ...strict, isolated: 0, besideEveryUs: 300 };
  test.each<{ name: string; rules?: Rules; seen?: Partial<Seen>; answer: string }>([
    { name: "is due after so long", answer: "trickle" },
    { name: "not in the first of it", seen: { heldUs: 299 }, answer: "high" },
    { name: "nor so soon after the last", seen: { trickledUs: 299 }, answer: "high" },
    { name: "nor where contexts exclude each other", rules: { isolated: 1 }, answer: "high" },
    {
      name: "nor in the rest after a request",
      rules: { resumeDelayUs: 150 },
      seen: { active: false, idleUs: 100 },
      answer: "high",
    },
    { name: "nor in the agent's pause", rules: { paused: 1 }, answer: "paused" },
  ])("$name", ({ rules, seen, answer }) => {
    const held = { active: true, heldUs: 300, trickledUs: 300, ...seen };
    expect(release({ ...beside, ...rules }, held)).toBe(answer);
  });
});

describe("where a chunk ends", () => {
  test("a chunk of more than one launch never exceeds the limits", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 400 }), { minLength: 1, maxLength: 200 }), (durations) => {
        let us = 0;
        let launches = 0;
        for (const each of durations) {
          if (closes(strict, us, launches, { us: each })) [us, launches] = [0, 0];
          us += each;
          launches++;
          expect(launches === 1 || us <= 200).toBe(true);
          expect(launches).toBeLessThanOrEqual(16);
        }
      }),
      { numRuns: 50 },
    );
  });

  test("an unknown kernel stands alone", () => {
    expect(closes(strict, 10, 1, { us: 10, known: false })).toBe(true);
    expect(closes(strict, 0, 0, { us: 10, known: false })).toBe(false);
  });
});

test.each([
  { launches: 699, ns: 9_999_999, rules: strict, room: 1 },
  { launches: 700, ns: 0, rules: strict, room: 0 },
  { launches: 0, ns: 10_000_000, rules: strict, room: 0 },
  // Forced into the range in which a driver's queue has room, and a wait is short.
  { launches: 799, ns: 0, rules: { ...strict, submitLaunches: 5000 }, room: 1 },
  { launches: 800, ns: 0, rules: { ...strict, submitLaunches: 5000 }, room: 0 },
  { launches: 0, ns: 99_999, rules: { ...strict, submitUs: 1 }, room: 1 },
  { launches: 0, ns: 100_000_000, rules: { ...strict, submitUs: 1_000_000 }, room: 0 },
])("behind the hold word $launches launches of $ns ns leave room: $room", (given) => {
  expect(hasRoomOf(settings(given.rules), given.launches, given.ns)).toBe(given.room);
});

describe("the histogram", () => {
  test("C++ and TypeScript sort every duration into the same bucket", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 49n }), (ns) => {
        expect(nativeBucketOf(ns)).toBe(bucketOf(Number(ns)));
      }),
      { numRuns: 2000 },
    );
    expect(nativeBucketOf(2n ** 64n - 1n)).toBe(bucketCount - 1);
  });

  test("a bucket holds what it says and is at most 1 % wide, from 1 us to 60 s", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: 60_000_000_000 }), (ns) => {
        const bucket = bucketOf(ns);
        const [from, to] = [bucketStart(bucket), bucketStart(bucket + 1)];
        expect(ns / 1000).toBeGreaterThanOrEqual(from - 1e-9);
        // A duration is cut to 1/128 us before it is sorted.
        expect(ns / 1000).toBeLessThan(to + 1 / 128);
        expect(to / from).toBeLessThanOrEqual(1.01);
      }),
      { numRuns: 2000 },
    );
  });

  test("a quantile is within a bucket's width of the exact one", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1000, max: 10_000_000 }), { minLength: 1, maxLength: 300 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (samples, q) => {
          const counts = new Uint32Array(bucketCount);
          for (const ns of samples) counts[bucketOf(ns)] = (counts[bucketOf(ns)] ?? 0) + 1;
          const sorted = samples.toSorted((a, b) => a - b);
          const exact = (sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? 0) / 1000;
          expect(Math.abs(quantile(counts, q) / exact - 1)).toBeLessThan(0.01);
        },
      ),
    );
    expect(quantile(new Uint32Array(bucketCount), 0.5)).toBeNaN();
  });
});
