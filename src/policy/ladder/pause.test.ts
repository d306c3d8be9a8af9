import { describe, expect, test } from "vitest";
import { type Service, Watched } from "../../../test/policy/plant.ts";
import { cotenant } from "../policies/cotenant.ts";
import { slo } from "../policies/slo.ts";

const p99 = { p99Us: 10_000 };
const above: Service = { objective: p99, bursts: [[30_000, 25]] };
/** Far within 10 ms. */
const short: Service = { objective: p99, bursts: [[2000, 25]] };

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
    for (; paused < 4000 && watched.isPaused; paused++) watched.look([service], true, everyMs);
    return { before, paused };
  };

  test("comes once the first fifty bursts, which are unlike all others, are over", () => {
    expect(pauseOf(slowed(25)).before).toBe(2);
    expect(pauseOf(slowed(5)).before).toBe(10);
  });

  test("lasts for two hundred bursts alone, and for ten seconds at most", () => {
    // The bursts that end in its first sample began before it.
    expect(pauseOf(slowed(25)).paused).toBe(1 + 8);
    expect(pauseOf(slowed(10)).paused).toBe(1 + 20);
    expect(pauseOf(slowed(2)).paused).toBe(40);
  });

  test.each(["progress", "unknown"] as const)("is a pause whatever runs in it: %s", (colocated) => {
    const watched = new Watched();
    watched.looks(2, [slowed(25)]);
    let paused = 0;
    for (; paused < 100 && watched.isPaused; paused++) watched.look([slowed(25)], colocated);
    expect(paused).toBe(1 + 8);
    expect(watched.looks(40, [slowed(25)]).at(-1)).toBeGreaterThan(0);
  });

  test("lasts until every client that asks for one has seen enough", () => {
    const slow = { ...slowed(7), id: "slow" };
    const steady: Service = { objective: { p99Us: 10_000 }, bursts: [[2000, 25]], id: "steady" };
    const one = new Watched();
    one.looks(2, [slowed(25), steady]);
    expect(one.isPaused).toBe(true);
    const two = new Watched();
    two.looks(8, [slowed(7), slow]);
    let paused = 0;
    for (; paused < 100 && two.isPaused; paused++) two.look([slowed(25), slow]);
    expect(paused).toBe(1 + Math.ceil(200 / 7));
  });

  test("is over for good where it saw enough and the load stays", () => {
    const watched = new Watched();
    pauseOf(slowed(25), watched, 1000);
    for (let look = 0; look < 700; look++) {
      watched.look([slowed(25)], true, 1000);
      expect(watched.isPaused).toBe(false);
    }
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

  test("lets nothing through but minimum progress, and goes over every level", () => {
    const watched = new Watched();
    watched.looks(3, [slowed(25)]);
    const rules = slo.rules({ isolated: true, high: [] }, watched.memory);
    expect(rules).toMatchObject({
      paused: 1,
      progressAfterUs: 1_000_000,
      progressEveryUs: 1_000_000,
    });
    watched.looks(40, [slowed(25)]);
    expect(slo.rules({ isolated: true, high: [] }, watched.memory).paused).toBe(0);
  });

  test("is not asked by a client that is idle, or alone", () => {
    const idle = new Watched();
    idle.look([slowed(60)], false);
    idle.looks(5, [slowed(0)], false);
    idle.looks(4, [slowed(0)]);
    expect(idle.isPaused).toBe(false);
    idle.look([slowed(1)]);
    expect(idle.isPaused).toBe(true);
    const lonely = new Watched();
    for (let look = 0; look < 20; look++) {
      lonely.look([slowed(25)], false);
      expect(lonely.isPaused).toBe(false);
    }
    // Solo bursts of that time become the reference.
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

describe("an objective that only co-location breaks", () => {
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
    for (let look = 0; look < 140; look++) {
      watched.look([above], true, 5000);
      expect(watched.isPaused).toBe(false);
    }
    expect(watched.state()).toBe("missed");
  });
});
