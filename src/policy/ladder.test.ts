import { describe, expect, test } from "vitest";
import { bucketCount, bucketOf } from "#protocol";
import { cotenant } from "./cotenant.ts";
import type { LookedHigh, Memory, Objective, Policy } from "./policy.ts";
import { slo } from "./slo.ts";

/** So many bursts of a duration. */
type Bursts = readonly (readonly [us: number, count: number])[];

interface Service {
  readonly id?: string;
  readonly objective: Partial<Objective> | undefined;
  /** That ended in a look. */
  readonly bursts: Bursts;
  /** What they waited for the GPU, where that is reported. */
  readonly waits?: Bursts;
}

const counted = (bursts: Bursts): Uint32Array | undefined => {
  if (bursts.length === 0) return undefined;
  const counts = new Uint32Array(bucketCount);
  for (const [us, count] of bursts) counts[bucketOf(us * 1000)] = count;
  return counts;
};

/** A policy that is shown what a test says, with its memory kept. */
class Watched {
  readonly policy: Policy;
  readonly isolated: boolean;
  memory: Memory | undefined;
  nowMs = 0;

  constructor(policy = slo, isolated = true) {
    this.policy = policy;
    this.isolated = isolated;
  }

  get level(): number {
    return this.memory?.level ?? 0;
  }
  get isPaused(): boolean {
    return this.memory?.pausedUntilMs !== undefined;
  }
  state(id = "one") {
    return this.memory?.clients.get(id)?.state;
  }

  look(services: readonly Service[], company: boolean | "unknown" = true, everyMs = 250): number {
    this.nowMs += everyMs;
    const high = services.map(
      ({ id = "one", objective, bursts, waits }): LookedHigh => ({
        id,
        name: "serve",
        burstP50Us: bursts[0]?.[0],
        objective: objective && { p99Us: undefined, slowdown: undefined, ...objective },
        ended: counted(bursts),
        waited: waits && counted(waits),
      }),
    );
    const { isolated, nowMs, isPaused } = this;
    this.memory = this.policy.remember?.(
      { isolated, nowMs, high, company: company === "unknown" ? undefined : company && !isPaused },
      this.memory,
    );
    return this.level;
  }

  /** The levels after so many looks each. */
  looks(count: number, ...rest: Parameters<Watched["look"]>): number[] {
    return Array.from({ length: count }, () => this.look(...rest));
  }

  /** Seconds until the level is this one, of 4,000 looks at most. */
  until(level: number, ...rest: Parameters<Watched["look"]>): number {
    const from = this.nowMs;
    for (let look = 0; look < 4000 && this.look(...rest) !== level; look++);
    return this.level === level ? (this.nowMs - from) / 1000 : Number.NaN;
  }
}

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
  test("when they ended in company", () => {
    const watched = new Watched();
    watched.looks(240, [short]);
    expect(watched.level).toBe(5);
    expect(watched.state()).toBe("met");
  });

  test.each([
    { what: "nobody can tell whether they did", company: "unknown" },
    { what: "they did not", company: false },
  ] as const)("not when $what", ({ company }) => {
    const watched = new Watched();
    watched.looks(240, [short], company);
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
    // A look at bursts that began before, a pause of nine to see it alone, and two looks for each level.
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

  test("is tried again within a minute when the load falls", () => {
    const watched = fallen();
    watched.until(4, [tight]);
    watched.look([above]);
    watched.until(3, [tight]);
    expect(watched.looks(20, [tight]).at(-1)).toBe(3);
    const few = [{ ...tight, bursts: [[9500, 4]] }] as const;
    const before = watched.nowMs;
    // Lower by five sixths: the level stays, what it may become is nearer.
    expect(watched.looks(12, few)).not.toContain(0);
    expect(watched.until(4, few) + (watched.nowMs - before) / 1000).toBeLessThan(150);
    expect((watched.nowMs - before) / 1000).toBeLessThan(75);
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
    // Not the short way: 300 bursts for a level, at 60 a look.
    expect(watched.looks(13, [busy]).at(-1)).toBeLessThan(2);
  });
});

describe("other company", () => {
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

describe("a pause for a slowdown", () => {
  const slowed = (perLook: number, us = 2000): Service => ({
    objective: { slowdown: 0.1 },
    bursts: perLook === 0 ? [] : [[us, perLook]],
  });
  /** Looks until it pauses, and how many it pauses for. */
  const pauseOf = (service: Service, watched = new Watched(), everyMs = 250) => {
    let before = 0;
    for (; before < 4000 && !watched.isPaused; before++) watched.look([service], true, everyMs);
    let paused = 0;
    for (; paused < 4000 && watched.isPaused; paused++) watched.look([service]);
    return { before, paused };
  };

  test("comes once the first fifty bursts, which are unlike all others, are over", () => {
    expect(pauseOf(slowed(25)).before).toBe(2);
    expect(pauseOf(slowed(5)).before).toBe(10);
  });

  test("lasts for two hundred bursts alone, and for ten seconds at most", () => {
    // The bursts that end in its first look began before it.
    expect(pauseOf(slowed(25)).paused).toBe(1 + 8);
    expect(pauseOf(slowed(10)).paused).toBe(1 + 20);
    expect(pauseOf(slowed(2)).paused).toBe(40);
  });

  test("in which twenty bursts ended has to do, with fewer nothing is known", () => {
    const watched = new Watched();
    pauseOf(slowed(1), watched);
    watched.looks(60, [slowed(25)]);
    expect(watched.level).toBeGreaterThan(0);

    const few = new Watched();
    for (let look = 0; look < 200 && !few.isPaused; look++) few.look([slowed(1)]);
    for (let look = 0; look < 100 && few.isPaused; look++)
      few.look([slowed(look % 3 === 0 ? 1 : 0)]);
    expect(few.isPaused).toBe(false);
    expect(new Set(few.looks(400, [slowed(25)]))).toEqual(new Set([0]));
    expect(few.isPaused).toBe(false);
  });

  test("comes again after ten minutes where the first saw too little", () => {
    const watched = new Watched();
    pauseOf(slowed(2), watched);
    const at = watched.nowMs;
    // It had some eighty bursts, and goes on from there.
    expect(pauseOf(slowed(20), watched, 1000).paused).toBeLessThan(9);
    expect((watched.nowMs - at) / 60_000).toBeCloseTo(10, 0);
  });

  test("lets nothing through but a trickle, and goes over every level", () => {
    const watched = new Watched();
    watched.looks(3, [slowed(25)]);
    const rules = slo.rules({ isolated: true, high: [] }, watched.memory);
    expect(rules).toMatchObject({
      paused: 1,
      trickleAfterUs: 1_000_000,
      trickleEveryUs: 1_000_000,
    });
    watched.looks(40, [slowed(25)]);
    expect(slo.rules({ isolated: true, high: [] }, watched.memory).paused).toBe(0);
  });

  test("is not asked by a client that is idle, or that has no company", () => {
    const idle = new Watched();
    idle.look([slowed(40)]);
    idle.looks(6, [slowed(0)]);
    // One more makes fifty; only then it is at work and warm.
    expect(idle.isPaused).toBe(false);
    const lonely = new Watched();
    for (let look = 0; look < 20; look++) {
      lonely.look([slowed(25)], false);
      expect(lonely.isPaused).toBe(false);
    }
    // What it saw alone meanwhile is a reference.
    lonely.looks(20, [slowed(25)]);
    expect(lonely.isPaused).toBe(false);
    expect(lonely.level).toBeGreaterThan(0);
  });

  test("ends when its client falls silent", () => {
    const watched = new Watched();
    watched.looks(2, [slowed(25)]);
    expect(watched.isPaused).toBe(true);
    watched.looks(41, [slowed(0)]);
    expect(watched.isPaused).toBe(false);
  });

  test("tells what a burst may take: a tenth more than the p99 alone, and no more", () => {
    const reference = (us: number) => {
      const watched = new Watched(cotenant, false);
      pauseOf(slowed(25, 2000), watched);
      watched.looks(60, [slowed(25, us)]);
      return watched;
    };
    expect(reference(2150).level).toBeGreaterThan(0);
    expect(reference(2150).state()).toBe("met");
    expect(reference(2250).level).toBe(0);
    expect(reference(2250).state()).toBe("missed");
  });
});

describe("an objective that company alone breaks", () => {
  test("is tried alone once, and is impossible where that breaks it too", () => {
    const watched = new Watched();
    watched.looks(4, [above]);
    expect(watched.isPaused).toBe(true);
    watched.looks(12, [above]);
    expect(watched.isPaused).toBe(false);
    expect(watched.state()).toBe("impossible");
    for (let look = 0; look < 100; look++) {
      watched.look([above], true, 20_000);
      expect(watched.isPaused).toBe(false);
    }
    expect(watched.state()).toBe("impossible");
  });

  test("is missed where it is met alone", () => {
    const watched = new Watched();
    for (let look = 0; look < 40; look++) watched.look([watched.isPaused ? short : above]);
    expect(watched.isPaused).toBe(false);
    expect(watched.state()).toBe("missed");
  });
});
