import { describe, expect, test } from "vitest";
import { type Service, Watched } from "../../../test/policy/plant.ts";

const p99 = { p99Us: 10_000 };
/** Far within 10 ms: a hundred of them say that any level without a gate holds. */
const short: Service = { objective: p99, bursts: [[2000, 25]] };
/** With room for chunks that are 0.5 ms longer: the first level, and then a level as often as 300 of them say so. */
const tight: Service = { objective: p99, bursts: [[9500, 25]] };
const above: Service = { objective: p99, bursts: [[30_000, 25]] };
const silent: Service = { objective: p99, bursts: [] };

const changes = (levels: readonly number[]) =>
  levels.filter((level, i) => level !== (levels[i - 1] ?? 0));

describe("bursts say that a level holds", () => {
  test("when they ended co-located", () => {
    const watched = new Watched();
    watched.looks(240, [short]);
    expect(watched.level).toBe(5);
    expect(watched.state()).toBe("met");
  });

  test.each([
    { what: "nobody can tell whether they did", colocated: "unknown" },
    { what: "they did not", colocated: false },
  ] as const)("not when $what", ({ colocated }) => {
    const watched = new Watched();
    watched.looks(240, [short], colocated);
    expect(watched.level).toBe(0);
    expect(watched.state()).toBe("learning");
  });

  test("a level at a time, each by 300 of them, where a chunk more could break the objective", () => {
    const watched = new Watched();
    const levels = watched.looks(100, [tight]);
    // Level 5 takes half of the GPU, and every burst with it.
    expect(changes(levels)).toEqual([1, 2, 3, 4]);
    // Two seconds of the first, and then twelve looks of 25.
    const [first = 0] = [levels.indexOf(1)];
    expect([2, 3, 4].map((level) => levels.indexOf(level) - first)).toEqual([12, 24, 36]);
    expect(levels.indexOf(1)).toBe(8);
  });

  test("at once for all levels without a gate, and by a hundred more for the last, where they say it clearly", () => {
    const levels = new Watched().looks(30, [short]);
    expect(changes(levels)).toEqual([4, 5]);
    expect(levels.indexOf(5) - levels.indexOf(4)).toBe(8);
  });

  test("of every client that is at work, and of none that has been silent for a minute", () => {
    const other: Service = { objective: p99, bursts: [[9900, 25]], id: "other" };
    const watched = new Watched();
    watched.looks(30, [short, other]);
    expect(watched.level).toBeLessThan(4);
    const alone = new Watched();
    alone.looks(30, [short, { ...silent, id: "other" }]);
    expect(alone.level).toBe(5);
  });

  test("of nobody, where all are silent", () => {
    const watched = new Watched();
    watched.looks(2, [tight]);
    expect(new Set(watched.looks(300, [silent]))).toEqual(new Set([0]));
  });
});

describe("a level that broke an objective", () => {
  const fallen = () => {
    const watched = new Watched();
    watched.until(4, [tight]);
    watched.look([above]);
    return watched;
  };

  test("is left at once for full protection, and the objective is missed", () => {
    const watched = fallen();
    expect(watched.level).toBe(0);
    expect(watched.state()).toBe("missed");
  });

  test("is not tried again for a minute; the way back to the one below it is short", () => {
    const watched = fallen();
    const levels = watched.looks(100, [tight]);
    // A look at bursts that began before, a pause of nine to see it alone, and two samples for each level.
    expect(levels.indexOf(3)).toBe(1 + 9 + 2 * 3);
    expect(Math.max(...levels)).toBe(3);
    expect(watched.state()).toBe("met");
    expect(watched.until(4, [tight])).toBeCloseTo(60 - 25, 0);
  });

  test("is left alone for twice as long each time, and for half an hour at most", () => {
    const watched = fallen();
    for (const seconds of [60, 120, 240, 480, 960, 1800, 1800]) {
      // Sixty looks for each, however long it is.
      const everyMs = (1000 * seconds) / 60;
      const took = watched.until(4, [{ ...tight, bursts: [[9500, 100]] }], true, everyMs);
      watched.look([{ ...above, bursts: [[30_000, 100]] }], true, everyMs);
      expect(took / seconds).toBeGreaterThan(0.99);
      expect(took / seconds).toBeLessThan(1.2);
    }
  });

  test.each([
    { held: 200, seconds: 120 },
    { held: 250, seconds: 60 },
  ])(
    "is forgiven after four times as long: held for $held s it is tried again after $seconds s",
    ({ held, seconds }) => {
      const watched = fallen();
      const second = [[{ ...tight, bursts: [[9500, 100]] }], true, 1000] as const;
      watched.until(4, ...second);
      watched.looks(held, ...second);
      expect(watched.level).toBe(4);
      watched.look([above]);
      expect(watched.until(4, ...second) / seconds).toBeCloseTo(1, 1);
    },
  );

  test("is tried again a minute after the load has fallen", () => {
    const watched = fallen();
    watched.until(4, [tight]);
    // Now for two minutes.
    watched.look([above]);
    watched.until(3, [tight]);
    watched.looks(24, [tight]);
    const few = [{ ...tight, bursts: [[9500, 4]] }] as const;
    expect(watched.looks(8, few)).not.toContain(0);
    const seconds = watched.until(4, few);
    expect(seconds).toBeGreaterThan(57);
    expect(seconds).toBeLessThan(80);
  });

  test("is not passed by because bursts say that it would hold", () => {
    expect(Math.max(...fallen().looks(40, [short]))).toBe(3);
  });

  test("is the lowest already: then nothing is banned, and it is climbed from when it holds", () => {
    const watched = new Watched();
    watched.looks(8, [above]);
    expect(watched.level).toBe(0);
    expect(watched.state()).toBe("missed");
    expect(watched.until(5, [short])).toBeLessThan(60);
  });
});

describe("a load that rose", () => {
  test("is protected in full, and what was found out before is found out anew", () => {
    const watched = new Watched();
    watched.until(4, [tight]);
    watched.looks(40, [tight]);
    const busy = { ...tight, bursts: [[9500, 60]] } as const;
    const levels = watched.looks(4, [busy]);
    expect(levels).toContain(0);
    expect(watched.state()).toBe("learning");
    // Not the short way: 300 bursts for a level, at 60 a sample.
    expect(watched.looks(13, [busy]).at(-1)).toBeLessThan(2);
  });
});

describe("other neighbours", () => {
  const back = (seconds: number, services: readonly Service[] = [short]) => {
    const watched = new Watched();
    watched.looks(60, services);
    watched.looks(4 * seconds, services, false);
    expect(watched.level).toBe(5);
    return watched.look(services);
  };

  test("after more than a minute without any is met with full protection", () => {
    expect(back(61)).toBe(0);
    expect(back(59)).toBe(5);
  });

  test.each([
    { who: "the job that was there before", job: "one", level: 5 },
    { who: "another job", job: "two", level: 0 },
  ])("after more than a minute are met by level $level where they are $who", ({ job, level }) => {
    const watched = new Watched();
    watched.job = "one";
    watched.looks(60, [short]);
    watched.looks(4 * 61, [short], false);
    watched.job = job;
    expect(watched.look([short])).toBe(level);
  });

  test("are known among the sixteen latest only", () => {
    const back = (others: number) => {
      const watched = new Watched();
      for (const n of Array(1 + others).keys()) {
        watched.job = `${n}`;
        watched.looks(60, [short]);
      }
      watched.looks(4 * 61, [short], false);
      watched.job = "0";
      return watched.look([short]);
    };
    expect(back(15)).toBe(5);
    expect(back(16)).toBe(0);
  });
});

describe("somebody without an objective", () => {
  test("takes every level back, and a pause too", () => {
    const watched = new Watched();
    watched.looks(60, [short]);
    const plain = { id: "plain", objective: undefined, bursts: [] } as const;
    expect(watched.look([short, plain])).toBe(0);

    const pausing = new Watched();
    const slowed: Service = { objective: { slowdown: 0.1 }, bursts: [[2000, 25]] };
    pausing.looks(4, [slowed]);
    expect(pausing.isPaused).toBe(true);
    pausing.look([slowed, plain]);
    expect(pausing.isPaused).toBe(false);
  });
});

describe("of several clients", () => {
  const other = (one: Service): Service => ({ ...one, id: "other" });
  const both = () => {
    const watched = new Watched();
    watched.looks(60, [short, other(short)]);
    expect(watched.level).toBe(5);
    return watched;
  };

  test("one that is missed, or whose load rises, is enough to protect all", () => {
    expect(both().look([short, other(above)])).toBe(0);
    const busier = { ...short, bursts: [[2000, 80]] } as const;
    expect(both().looks(4, [short, other(busier)])).toContain(0);
  });

  test("one whose bursts say too little, or too much, is enough to climb no further", () => {
    const watched = new Watched();
    for (let look = 0; look < 100; look++)
      watched.look([
        short,
        other({
          ...tight,
          bursts: [
            [9500, 24],
            [30_000, look % 4 ? 0 : 1],
          ],
        }),
      ]);
    expect(watched.level).toBe(0);
    // Half of the GPU taken from it, 6 ms are 12.
    const longer = new Watched();
    longer.looks(100, [short, other({ ...short, bursts: [[6000, 25]] })]);
    expect(longer.level).toBe(4);
  });

  test("one that comes with a slowdown, of which nothing is known, is protected in full at once", () => {
    const slowed: Service = { objective: { slowdown: 0.1 }, bursts: [[2000, 1]] };
    expect(both().look([short, other(short), { ...slowed, id: "third" }])).toBe(0);
  });

  test("one whose objective proves impossible is protected in full", () => {
    const third: Service = { id: "third", objective: p99, bursts: [[2000, 60]] };
    const watched = new Watched();
    watched.until(5, [short, other(short), third]);
    watched.look([short, other(short), { ...third, bursts: [[12_000, 60]] }], false);
    expect(watched.level).toBe(5);
    watched.looks(6, [short, other(short), { ...third, bursts: [[12_000, 60]] }], false);
    expect(watched.state("third")).toBe("impossible");
    expect(watched.level).toBe(0);
  });

  test("none that is left is nobody to climb for", () => {
    expect(both().look([])).toBe(0);
  });
});
