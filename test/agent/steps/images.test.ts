// Beside an eager diffusion loop, which makes an image in one long burst every few seconds, the policy `cotenant` learns within minutes
// how much it may give best-effort work: from the bursts in the client's slot to the rules.
import { expect, onTestFinished, test } from "vitest";
import { ServedGpu, Watch } from "#agent";
import { ms, nanos } from "#core";
import { policyNamed } from "#policy";
import { applicant } from "../example.ts";
import { blindSensor, HandClock } from "../fakes.ts";
import { sequence, sequences } from "./sequences.ts";
import { writeBursts } from "./slots.ts";

const LOOK_MS = 250;
const LAUNCHES = 21_000;

/** The rules in force, each time that they change, where every burst waits for as long. */
function rulesBeside(waitedUs: number, minutes: number) {
  const gpu = new ServedGpu({ uuid: new Uint8Array(16), name: "soft", smCount: 4 }, 1);
  onTestFinished(() => gpu.close());
  const slot = gpu.region.memory.high[gpu.take(applicant({ class: "high" }), nanos(0))?.slot ?? 0];
  const training = gpu.take(applicant({ class: "best-effort" }), nanos(0));
  const trainingSlot = gpu.region.memory.bestEffort[training?.slot ?? 0];
  if (!slot || !trainingSlot) throw new Error("no slot");
  const clock = new HandClock();
  const watch = new Watch({
    ...{ tenants: false, isolated: true, overrides: {}, clock },
    policy: policyNamed("cotenant"),
    sensor: blindSensor,
  });
  const bursts = sequence(2000, sequences.image).map((burst) => {
    const waited = Math.min(waitedUs * 1e3, burst.end - burst.begin);
    return { ...burst, waited };
  });
  const shift = clock.now() - (bursts[0]?.begin ?? 0);
  const rules: {
    readonly atS: number;
    readonly graceLaunches: number;
    readonly key: string;
  }[] = [];
  for (let atMs = 0; atMs < minutes * 60_000; atMs += LOOK_MS) {
    clock.advance(ms(LOOK_MS));
    const ended = bursts.findIndex(({ end }) => end + shift > clock.now());
    writeBursts(
      slot,
      bursts
        .splice(0, ended)
        .map((burst) => ({ ...burst, begin: burst.begin + shift, end: burst.end + shift })),
    );
    trainingSlot.finishedNs += 1e6;
    watch.lookAndDecide([gpu]);
    const { graceUs, graceLaunches, whenActive } = gpu.region.memory.settings;
    const part = Math.round((100 * graceLaunches) / LAUNCHES);
    const key = `${graceUs} us, ${part} %, ${whenActive}`;
    if (rules.at(-1)?.key !== key) rules.push({ atS: atMs / 1000, graceLaunches, key });
  }
  return rules;
}

test("a loop whose bursts hardly wait leaves half of each, then all but a millisecond, then all until it waits, then does not hold", () => {
  const rules = rulesBeside(1500, 10);
  expect(rules.map(({ key }) => key)).toEqual([
    "0 us, 0 %, 0",
    "10000000 us, 50 %, 0",
    "10000000 us, 100 %, 0",
    "10000000 us, 0 %, 0",
    "0 us, 0 %, 2",
  ]);
  const [, half, nearlyAll, , last] = rules;
  expect(half?.atS).toBeLessThan(130);
  expect(last?.atS).toBeLessThan(300);
  // A millisecond of 710 ms or so.
  expect(nearlyAll?.graceLaunches).toBeGreaterThan(0.998 * LAUNCHES);
  expect(nearlyAll?.graceLaunches).toBeLessThan(LAUNCHES);
});

test("a loop that keeps the GPU busy is protected as under strict", () => {
  expect(rulesBeside(600_000, 10).map(({ key }) => key)).toEqual(["0 us, 0 %, 0"]);
});
