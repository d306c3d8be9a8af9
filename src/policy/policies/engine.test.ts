// An LLM engine that batches requests, in virtual time, beside best-effort work by the policy `cotenant`.
import { describe, expect, test } from "vitest";
import { mulberry32, type Random } from "#core";
import { bucketCount, bucketOf, type Rules, whenActive } from "#protocol";
import type { RequestCounts } from "../ladder/requests.ts";
import type { Memory } from "../policy.ts";
import { policyNamed } from "./index.ts";

const LOOK_S = 0.25;
const TOKENS = 64;
const limits = { ttft: 250_000, tpot: 50_000 };
const { rules, remember } = policyNamed("cotenant");

interface Request {
  readonly arrived: number;
  first: number | undefined;
  tokens: number;
}

/** Part of the GPU that best-effort work has beside a request. */
const shareBeside = ({ whenActive: when, besideEveryUs, chunkUs }: Rules): number =>
  when === whenActive.allow ? 0.5 : besideEveryUs > 0 ? chunkUs / besideEveryUs : 0;

/** A step of an 8 B model on an H200, roughly: weights, a little for each request, and the prefill of new ones. */
const stepAlone = (batch: number, added: number): number => 0.012 + 0.0002 * batch + 0.015 * added;

/** Counts what ended since the last look. */
class Ended {
  counts: Record<"ttft" | "tpot", RequestCounts>;
  steps = new Uint32Array(bucketCount);

  constructor() {
    const none = { values: 0, above: 0, near: 0 };
    this.counts = { ttft: none, tpot: none };
  }

  add(kind: "ttft" | "tpot", seconds: number): void {
    const { values, above, near } = this.counts[kind];
    const us = 1e6 * seconds;
    this.counts[kind] = {
      values: values + 1,
      above: above + Number(us > limits[kind]),
      near: near + Number(us > 0.75 * limits[kind]),
    };
  }

  step(seconds: number): void {
    const bucket = bucketOf(1e9 * seconds);
    this.steps[bucket] = (this.steps[bucket] ?? 0) + 1;
  }
}

/** By the policy, or at a fixed level. `perS`: requests a second at a time. */
function played(seconds: number, perS: (at: number) => number, fixed?: number) {
  const random: Random = mulberry32(3);
  const looks: { at: number; level: number; kept: number; late: number; requests: number }[] = [];
  let memory: Memory | undefined;
  let [at, arrival, kept] = [0, 0, 0];
  let running: Request[] = [];
  let waiting: Request[] = [];
  let ended = new Ended();
  for (let look = LOOK_S; look < seconds; look += LOOK_S) {
    const inForce: Memory | undefined =
      fixed === undefined
        ? memory
        : { level: fixed, requestsOnly: true, pausedUntilMs: undefined, clients: new Map() };
    const share = shareBeside(rules({ isolated: true, high: [] }, inForce));
    kept = 0;
    while (at < look) {
      while (arrival <= at) {
        waiting.push({ arrived: arrival, first: undefined, tokens: 0 });
        arrival -= Math.log(1 - random()) / perS(arrival);
      }
      if (running.length + waiting.length === 0) {
        kept += Math.min(arrival, look) - at;
        at = Math.min(arrival, look);
        continue;
      }
      const step = stepAlone(running.length, waiting.length) / (1 - share);
      running.push(...waiting);
      waiting = [];
      at += step;
      kept += share * step;
      ended.step(step);
      for (const request of running) {
        request.tokens++;
        if (request.first === undefined) {
          request.first = at;
          ended.add("ttft", at - request.arrived);
        } else if (request.tokens === TOKENS)
          ended.add("tpot", (at - request.first) / (TOKENS - 1));
      }
      running = running.filter(({ tokens }) => tokens < TOKENS);
    }
    const { ttft, tpot } = ended.counts;
    const late = ttft.above + tpot.above;
    looks.push({ at: look, level: inForce?.level ?? 0, kept, late, requests: tpot.values });
    const engine = {
      id: "engine",
      name: "engine",
      burstP50Us: 15_000,
      objective: { p99Us: undefined, slowdown: undefined, requests: limits },
      ended: ended.steps,
      requests: ended.counts,
    };
    memory = remember?.(
      { isolated: true, high: [engine], nowMs: 1000 * look, colocated: true },
      memory,
    );
    ended = new Ended();
  }
  return looks;
}

type Looks = ReturnType<typeof played>;
const keptIn = (looks: Looks) =>
  looks.reduce((sum, { kept }) => sum + kept, 0) / (looks.length * LOOK_S);
const lateIn = (looks: Looks) =>
  looks.reduce((sum, { late }) => sum + late, 0) /
  Math.max(
    1,
    looks.reduce((sum, { requests }) => sum + 2 * requests, 0),
  );
const from = (looks: Looks, seconds: number) => looks.filter(({ at }) => at > seconds);

describe("an engine with time to spare", () => {
  test.each([0.5, 2, 6])(
    "at %d requests a second gives what the best fixed level could",
    (perS) => {
      const best = Array.from({ length: 9 }, (_, level) => played(600, () => perS, level))
        .filter((looks) => lateIn(looks) <= 0.01)
        .reduce((most, looks) => Math.max(most, keptIn(looks)), 0);
      const strict = keptIn(played(600, () => perS, 0));
      // A level takes thirty requests.
      const learned = from(
        played(1800, () => perS),
        9 * (30 / perS + 10),
      );
      expect(lateIn(learned)).toBeLessThan(0.01);
      expect(keptIn(learned)).toBeGreaterThan(0.9 * best);
      expect(keptIn(learned)).toBeGreaterThan(strict);
    },
  );
});

test("a load that rises to what no level but strict can bear is protected two seconds after its first late request", () => {
  const looks = played(900, (at) => (at < 600 ? 2 : 14));
  expect(looks.findLast(({ at }) => at < 600)?.level).toBeGreaterThan(4);
  const after = from(looks, 600);
  const [late, safe] = [({ late }: Looks[0]) => late > 0, ({ level }: Looks[0]) => level === 0].map(
    (is) => after.findIndex(is) * LOOK_S,
  );
  expect(safe).toBeLessThan((late ?? 0) + 2);
  expect(lateIn(from(looks, 630))).toBeLessThan(0.02);
});
