import { describe, expect, test } from "vitest";
import { bucketCount, bucketOf } from "#protocol";
import type { MeteredHigh, Objective } from "../contract/policy.ts";
import { noEvidence, withBursts } from "../evidence/evidence.ts";
import {
  type ClientMemory,
  isAboutThroughput,
  isWarm,
  lacksReference,
  limitsFor,
  newClient,
} from "./client.ts";
import { type Circumstance, look, withoutEvidence, withVerdict } from "./memory.ts";
import { endPause, isOutdated, isShort, startPause } from "./reference.ts";

const time: Objective = { p99Us: 10_000, slowdown: undefined };
const part: Objective = { p99Us: undefined, slowdown: 0.1 };
const both: Objective = { p99Us: 10_000, slowdown: 0.1 };

function high(
  objective: Objective | undefined,
  bursts: readonly (readonly [us: number, count: number])[] = [],
  more: Partial<MeteredHigh> = {},
): MeteredHigh {
  const ended = bursts.length > 0 ? new Uint32Array(bucketCount) : undefined;
  for (const [us, count] of bursts) if (ended) ended[bucketOf(us * 1000)] = count;
  return { id: "one", name: "high", burstP50Us: 2000, objective, ended, ...more };
}

const around = (how: Circumstance, seconds: number) => ({
  how,
  seconds,
  sinceDownMs: Number.POSITIVE_INFINITY,
});

const looks = (
  was: ClientMemory,
  count: number,
  how: Circumstance,
  client: MeteredHigh,
): ClientMemory =>
  count === 0 ? was : looks(look(was, client, around(how, 0.25)), count - 1, how, client);

/** After its first fifty bursts. */
const warm = (objective: Objective | undefined): ClientMemory =>
  looks(newClient(high(objective)), 2, "settling", high(objective, [[2000, 25]]));

/** As a pause leaves it in which so many bursts ended. */
const alone = (objective: Objective, bursts: number, us = 2000): ClientMemory =>
  look(warm(objective), high(objective, [[us, bursts]]), around("alone", 4));

describe("a service", () => {
  test("of which nothing was seen is being learned about", () => {
    expect(newClient(high(time))).toMatchObject({
      state: "learning",
      objective: time,
      training: false,
    });
  });

  test("is warm after fifty bursts, and a training after three", () => {
    const of = (bursts: number, training: boolean) =>
      isWarm({ ...newClient(high(time, [], { training })), bursts, shortestUs: 2000 });
    expect([49, 50].map((bursts) => of(bursts, false))).toEqual([false, true]);
    expect([2, 3].map((bursts) => of(bursts, true))).toEqual([false, true]);
  });

  test("whose bursts are long is warm after ten seconds of them, and a long first one does not count for others", () => {
    const of = (firstUs: number, usualUs: number, count: number) =>
      looks(
        look(newClient(high(part)), high(part, [[firstUs, 1]]), around("settling", 0.25)),
        count,
        "settling",
        high(part, [[usualUs, 1]]),
      );
    expect(isWarm(of(800_000, 800_000, 8))).toBe(false);
    expect(isWarm(of(800_000, 800_000, 13))).toBe(true);
    expect(isWarm(of(20e6, 2000, 13))).toBe(false);
  });

  test("has evidence of what ended co-located, and of nothing else", () => {
    const client = high(time, [[2000, 25]]);
    expect(look(warm(time), client, around("colocated", 0.25)).evidence.bursts).toBe(25);
    expect(look(warm(time), client, around("settling", 0.25)).evidence).toEqual(noEvidence);
    expect(look(warm(time), client, around("alone", 0.25)).evidence).toEqual(noEvidence);
    expect(look(warm(part), high(part, [[2000, 25]]), around("colocated", 0.25)).evidence).toEqual(
      noEvidence,
    );
  });

  test("has a load of what ended co-located, and of nothing else", () => {
    const client = high(time, [[2000, 25]]);
    expect(look(warm(time), client, around("colocated", 0.25)).load.recent).toHaveLength(1);
    expect(look(warm(time), client, around("alone", 0.25)).load.recent).toEqual([]);
  });

  test("has the objective that it asks for now", () => {
    expect(look(warm(time), high(both), around("colocated", 0.25)).objective).toEqual(both);
  });
});

describe("a reference", () => {
  test("comes of two hundred bursts alone, once the service is warm", () => {
    expect(alone(part, 199).reference).toBeUndefined();
    expect(alone(part, 200).reference).toMatchObject({ bursts: 200, seconds: 4 });
    const cold = newClient(high(part));
    const first = look(cold, high(part, [[2000, 300]]), around("alone", 4));
    expect([first.reference, first.growing.bursts]).toEqual([undefined, 0]);
  });

  test("is so high that 1 % of all bursts are above it in the mean, and the highest seen of few", () => {
    const of = (...bursts: readonly (readonly [number, number])[]) =>
      endPause(look(warm(part), high(part, bursts), around("alone", 4)), 0).reference?.p99Us;
    expect(of([2000, 198], [5000, 1], [9000, 1])).toBeCloseTo(5000, -2);
    expect(of([2000, 18], [5000, 1], [9000, 1])).toBeCloseTo(9000, -2);
  });

  test("of twenty bursts has to do when the pause is over, of fewer there is none", () => {
    expect(endPause(alone(part, 20), 7)).toMatchObject({
      pausedAtMs: 7,
      reference: { bursts: 20 },
    });
    const none = endPause(alone(part, 19), 7);
    expect([none.pausedAtMs, none.reference]).toEqual([7, undefined]);
  });

  test("of too few is short, and the next pause adds to it; another is made anew", () => {
    const few = endPause(alone(part, 100), 0);
    expect(isShort(few)).toBe(true);
    expect(startPause(few)).toMatchObject({ reference: undefined, growing: { bursts: 100 } });
    const enough = alone(part, 200);
    expect(isShort(enough)).toBe(false);
    expect(startPause(enough)).toMatchObject({ reference: undefined, growing: { bursts: 0 } });
    expect(isShort(newClient(high(part)))).toBe(true);
  });

  test("is replaced by one of a thousand bursts, and by none of fewer", () => {
    const twice = (bursts: number) =>
      look(alone(part, 200), high(part, [[3000, bursts]]), around("alone", 20)).reference?.p99Us;
    expect(twice(999)).toBeCloseTo(2000, -2);
    expect(twice(1000)).toBeCloseTo(3000, -2);
  });

  test("is lacking only where a slowdown is asked for", () => {
    expect(lacksReference(warm(part))).toBe(true);
    expect(lacksReference(warm(both))).toBe(true);
    expect(lacksReference(warm(time))).toBe(false);
    expect(lacksReference(warm(undefined))).toBe(false);
    expect(lacksReference(alone(part, 200))).toBe(false);
  });

  test("voids what a slowdown was judged by before, and nothing of a time", () => {
    const judge = (objective: Objective) => {
      const was = { ...warm(objective), evidence: withBursts(noEvidence, 100, 0) };
      return look(was, high(objective, [[2000, 200]]), around("alone", 4)).evidence.bursts;
    };
    expect(judge(part)).toBe(0);
    expect(judge(time)).toBe(100);
  });

  test("is outdated once the load is another one, which a training has not", () => {
    const at = (perS: number, more: Partial<ClientMemory> = {}) => {
      const usual = { bursts: 20 * perS, waitedUs: 0, seconds: 20 };
      const was = alone(part, 200); // 50 a second
      return isOutdated({ ...was, load: { ...was.load, usual }, ...more });
    };
    expect(at(50)).toBe(false);
    expect(at(150)).toBe(true);
    expect(at(150, { training: true })).toBe(false);
    expect(at(150, { reference: undefined })).toBe(false);
  });

  test("bounds what a burst may wait by a tenth of it more", () => {
    expect(limitsFor(warm(part))).toBeUndefined();
    expect(limitsFor(alone(part, 200))?.waitedUs).toBeCloseTo(2200, -2);
    expect(limitsFor(warm(time))?.lastedUs).toBe(10_000);
  });
});

describe("an objective", () => {
  const bad = withBursts(noEvidence, 20, 20);
  const middling = withBursts(noEvidence, 276, 2);

  test("is met by three hundred bursts; what was impossible must be shown to be met", () => {
    const judge = (state: ClientMemory["state"]) =>
      look(
        { ...warm(time), state, evidence: middling },
        high(time, [[2000, 24]]),
        around("colocated", 0.25),
      );
    expect(judge("missed").state).toBe("met");
    expect(judge("learning").state).toBe("met");
    expect(judge("impossible").state).toBe("impossible");
    const sure = looks(judge("impossible"), 20, "colocated", high(time, [[2000, 24]]));
    expect(sure.state).toBe("met");
  });

  test("that is broken is missed, and impossible at full protection where alone is not enough", () => {
    const slow = { ...alone(time, 200, 12_000), state: "learning" as const, evidence: bad };
    expect(withVerdict(slow, 0).state).toBe("impossible");
    expect(withVerdict(slow, 1).state).toBe("missed");
    expect(withVerdict({ ...alone(time, 200), evidence: bad }, 0).state).toBe("missed");
    expect(withVerdict({ ...warm(time), evidence: bad }, 0).state).toBe("missed");
    expect(withVerdict({ ...alone(part, 200), evidence: bad }, 0).state).toBe("missed");
    expect(withVerdict(warm(time), 0).state).toBe("learning");
  });

  test("that is not met alone is impossible, unless it was just seen to be met", () => {
    expect(alone(time, 200, 12_000).state).toBe("impossible");
    expect(alone(time, 200, 9000).state).toBe("learning");
    expect(alone(part, 200, 12_000).state).toBe("learning");
    const met = { ...warm(time), evidence: withBursts(noEvidence, 300, 0), state: "met" as const };
    expect(look(met, high(time, [[12_000, 200]]), around("alone", 4)).state).toBe("met");
  });

  test("that was impossible is learned about anew when it is met alone", () => {
    const again = startPause(alone(time, 200, 12_000));
    expect(again.state).toBe("impossible");
    expect(look(again, high(time, [[2000, 200]]), around("alone", 4)).state).toBe("learning");
    expect(
      look({ ...again, state: "missed" }, high(time, [[2000, 200]]), around("alone", 4)).state,
    ).toBe("missed");
  });
});

describe("a training", () => {
  const trains = (objective: Objective | undefined, launches: number): MeteredHigh =>
    high(objective, [[50_000, 1]], { training: true, launches });
  /** With what it does alone known: 250 launches a sample. */
  const known = () => looks(newClient(trains(part, 250)), 30, "alone", trains(part, 250));

  test("has an objective about its throughput where that is a slowdown", () => {
    expect(isAboutThroughput({ training: true, objective: part })).toBe(true);
    expect(isAboutThroughput({ training: true, objective: time })).toBe(false);
    expect(isAboutThroughput({ training: true, objective: undefined })).toBe(false);
    expect(isAboutThroughput({ training: false, objective: part })).toBe(false);
  });

  test("is met as fast as solo, and missed at two thirds of that", () => {
    expect(looks(known(), 30, "colocated", trains(part, 250)).state).toBe("met");
    const slow = looks(known(), 30, "colocated", trains(part, 167));
    expect(slow.state).toBe("learning");
    expect(withVerdict(slow, 1).state).toBe("missed");
  });

  test("is judged only while co-located, and not before it is known what it does without", () => {
    expect(looks(known(), 30, "settling", trains(part, 167)).evidence).toEqual(noEvidence);
    const unknown = looks(newClient(trains(part, 250)), 30, "colocated", trains(part, 167));
    expect([unknown.evidence, unknown.progress.looks]).toEqual([noEvidence, []]);
  });

  test("has a short reference from less than five seconds, and none from no time at all", () => {
    const pausedFor = (count: number) => {
      const was = looks(newClient(trains(part, 250)), 3, "settling", trains(part, 250));
      return endPause(looks(was, count, "alone", trains(part, 250)), 0);
    };
    expect(pausedFor(2).reference).toBeUndefined();
    expect(isShort(pausedFor(8))).toBe(true);
    expect(pausedFor(8).reference).toBeDefined();
    expect(isShort(pausedFor(30))).toBe(false);
  });

  test("knows since when it launches nothing, whatever else is forgotten", () => {
    const idle = looks(known(), 4, "colocated", high(part, [], { training: true, launches: 0 }));
    expect(idle.load.lastBurst).toBe(1);
    expect(withoutEvidence(idle).load.lastBurst).toBe(1);
    expect(look(idle, trains(part, 1), around("colocated", 0.25)).load.lastBurst).toBe(0);
  });
});
