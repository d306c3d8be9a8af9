import { describe, expect, test } from "vitest";
import { parseHealth } from "#health";
import type { Vitals } from "../sensors/sensor.ts";
import { unknownVitals } from "../sensors/soft-vitals.ts";
import { GpuHealth } from "./gpu-health.ts";

const GPU = "GPU-a";
const usual: Partial<Vitals> = { memory: 0.5, temperatureC: 60, slowdownC: 90, xids: [] };

/** A GPU whose sensors say what the test wants, looked at ten times a second. */
function judged({ given = [], software = false }: { given?: string[]; software?: boolean } = {}) {
  let now = 0;
  let said: Partial<Vitals> = usual;
  let lateness: number | undefined;
  let pressure: number | undefined = 0;
  let error: string | undefined;
  const health = new GpuHealth({
    error: () => error,
    options: parseHealth(given),
    software,
    now: () => now,
    lateness: () => lateness,
    pressure: () => ({ memory: pressure, cpu: pressure }),
  });
  const states: string[] = [];
  const causes: string[] = [];
  const run = (seconds: number) => {
    for (const until = now + seconds * 1e9; now < until; now += 1e8) {
      const { transitions } = health.look([{ ...unknownVitals(GPU), ...said }]);
      for (const { to, cause } of transitions) {
        states.push(to);
        causes.push(cause);
      }
      if (said.xids) said = { ...said, xids: [] }; // each is told once
    }
    return states;
  };
  run(1);
  states.length = 0;
  causes.length = 0;
  return {
    health,
    run,
    causes,
    say: (change: Partial<Vitals>, seconds = 2) => {
      said = { ...said, ...change };
      return [...run(seconds)];
    },
    late: (value: number | undefined) => {
      lateness = value;
    },
    press: (value: number | undefined) => {
      pressure = value;
    },
    breakDown: (why: string | undefined) => {
      error = why;
    },
  };
}

test("while no program can use the GPU, best-effort jobs wait, and then come again", () => {
  const gpu = judged();
  gpu.breakDown("MPS met a fatal GPU error");
  expect([...gpu.run(1)]).toEqual(["disabled"]);
  expect(gpu.health.refusal(GPU)).toContain("It is disabled: MPS met a fatal GPU error.");
  gpu.breakDown(undefined);
  gpu.run(60);
  expect(gpu.health.refusal(GPU)).toBeUndefined();
});

describe("heat", () => {
  test("near the slowdown temperature nothing new comes, and beyond it what is there is held", () => {
    const gpu = judged();
    expect(gpu.health.refusal(GPU)).toBeUndefined();
    expect(gpu.say({ temperatureC: 86 })).toEqual(["unhealthy"]);
    expect(gpu.health.refusal(GPU)).toContain(
      `No new best-effort client may come to ${GPU} until it is healthy. It is unhealthy: GPU temperature`,
    );
    expect(gpu.health.holds(GPU)).toBe(false);
    expect(gpu.say({ temperatureC: 91 })).toEqual(["unhealthy", "overlimit"]);
    expect(gpu.health.holds(GPU)).toBe(true);
  });

  test("a GPU that has cooled down is held until its time is over, then it is healthy in two steps", () => {
    const gpu = judged({ given: ["backOff=5"] });
    gpu.say({ temperatureC: 95 });
    expect(gpu.say({ temperatureC: 60 }, 4)).toEqual(["overlimit"]);
    expect(gpu.say({}, 10)).toEqual(["overlimit", "unhealthy", "healthy"]);
  });

  test("one hot reading is none", () => {
    expect(judged().say({ temperatureC: 120 }, 0.5)).toEqual([]);
  });
});

test("a reading that goes missing is not taken for a good one", () => {
  const gpu = judged();
  expect(gpu.say({ temperatureC: undefined }, 4)).toEqual([]);
  expect(gpu.say({}, 4)).toEqual(["unhealthy"]);
  expect(gpu.causes[0]).toMatch(
    /^GPU temperature has not been read for \d s; it was 30 °C below slowdown$/,
  );
  expect(gpu.say({ temperatureC: 60 })).toEqual(["unhealthy", "healthy"]);
});

test("a reading that this GPU never had is not judged", () => {
  const gpu = judged();
  expect(gpu.say({}, 30)).toEqual([]);
  expect(Object.keys(gpu.health.status(GPU)?.readings ?? {})).not.toContain("smActivity");
});

test("a GPU that is not listed any more becomes unhealthy", () => {
  const gpu = judged();
  const seen: string[] = [];
  const health = gpu.health;
  gpu.say({}, 1);
  let now = 10e9;
  // The same monitor, looked at without the GPU.
  const other = new GpuHealth({
    options: parseHealth([]),
    software: false,
    now: () => now,
    lateness: () => undefined,
    pressure: () => ({ memory: undefined, cpu: undefined }),
  });
  other.look([{ ...unknownVitals(GPU), ...usual }]);
  for (; now < 20e9; now += 1e9) seen.push(...other.look([]).transitions.map(({ to }) => to));
  expect(seen).toEqual(["unhealthy"]);
  expect(health.status("GPU-other")).toBeUndefined();
});

describe("errors", () => {
  test("an XID error of a program is told and changes nothing", () => {
    const gpu = judged();
    const told = gpu.health.look([{ ...unknownVitals(GPU), ...usual, xids: [31, 13] }]);
    expect(told).toEqual({
      transitions: [],
      xids: [
        { gpu: GPU, xid: 31 },
        { gpu: GPU, xid: 13 },
      ],
    });
  });

  test("another one makes the GPU unhealthy for two hours", () => {
    const gpu = judged();
    expect(gpu.say({ xids: [92] })).toEqual(["unhealthy"]);
    expect(gpu.say({}, 7000)).toEqual(["unhealthy"]);
    expect(gpu.say({}, 300)).toEqual(["unhealthy", "healthy"]);
  });

  test("one that needs a reset disables the GPU for as long as this agent runs", () => {
    const gpu = judged();
    expect(gpu.say({ xids: [79] })).toEqual(["disabled"]);
    expect(gpu.causes).toEqual(["XID 79: it has fallen off the bus"]);
    expect(gpu.say({}, 7500)).toEqual(["disabled"]);
    expect(gpu.health.holds(GPU)).toBe(true);
  });

  test("a GPU that the driver has lost and finds again is judged anew", () => {
    const gpu = judged();
    expect(gpu.say({ unusable: 'the driver says "GPU is lost"' })).toEqual(["disabled"]);
    expect(gpu.say({ unusable: undefined })).toEqual(["disabled", "init", "healthy"]);
  });

  test("uncorrected ECC errors from before do not count, new ones do", () => {
    const gpu = judged();
    expect(gpu.say({ eccErrors: 3 })).toEqual([]);
    expect(gpu.say({ eccErrors: 4 })).toEqual(["unhealthy"]);
  });

  test("rows that wait for a reset count until they are remapped", () => {
    const gpu = judged();
    expect(gpu.say({ rowsPending: true })).toEqual(["unhealthy"]);
    expect(gpu.say({ rowsPending: false })).toEqual(["unhealthy", "healthy"]);
  });
});

describe("the clock", () => {
  const busy = { utilisation: 0.9, mostSmClockMHz: 2000, clocksSet: false };

  test("of a busy GPU that lost half of it counts, of an idle one or a fixed one it does not", () => {
    expect(judged().say({ ...busy, smClockMHz: 900 }, 5)).toEqual(["unhealthy"]);
    expect(judged().say({ ...busy, smClockMHz: 345, utilisation: 0.1 }, 5)).toEqual([]);
    expect(judged().say({ ...busy, smClockMHz: 900, clocksSet: true }, 5)).toEqual([]);
  });

  test("slowed by heat is unhealthy, by the hardware over the limit", () => {
    expect(judged().say({ throttle: "heat" })).toEqual(["unhealthy"]);
    expect(judged().say({ throttle: "hardware" })).toEqual(["overlimit"]);
  });
});

describe("services and the machine", () => {
  test("a service that is twice as slow as alone for long counts, and its end is no missing reading", () => {
    const gpu = judged();
    gpu.late(1.5);
    expect(gpu.say({}, 7)).toEqual([]);
    expect(gpu.say({}, 3)).toEqual(["unhealthy"]);
    gpu.late(undefined);
    expect(gpu.say({}, 10)).toEqual(["unhealthy", "healthy"]);
  });

  test("memory pressure of the host counts, CPU pressure only where it is asked for", () => {
    const gpu = judged();
    gpu.press(0.7);
    expect(gpu.say({})).toEqual(["overlimit"]);
    const without = judged({ given: ["memoryPressure=off"] });
    without.press(1);
    expect(without.say({})).toEqual([]);
    const asked = judged({ given: ["cpuPressure=0.2,0.5,-", "memoryPressure=off"] });
    asked.press(0.6);
    expect(asked.say({})).toEqual(["unhealthy"]);
  });

  test("the pressure of the host is read once a second, however many looks there are", () => {
    let now = 0;
    let read = 0;
    const health = new GpuHealth({
      options: parseHealth([]),
      software: false,
      now: () => now,
      lateness: () => undefined,
      pressure: () => ({ memory: ++read / 100, cpu: undefined }),
    });
    for (; now < 5e9; now += 1e8) health.look([{ ...unknownVitals(GPU), ...usual }]);
    expect(read).toBe(5);
    expect(health.status(GPU)?.readings.memoryPressure).toBe(0.05);
  });

  test("beside the software GPU the machine is not judged", () => {
    const gpu = judged({ software: true });
    gpu.press(1);
    gpu.late(9);
    expect(gpu.say({}, 20)).toEqual([]);
  });
});

test("the status says how long Overlimit lasts at least", () => {
  const gpu = judged();
  gpu.say({ temperatureC: 95 });
  const status = gpu.health.status(GPU);
  expect(status).toMatchObject({ state: "overlimit", entries: 1, readings: { temperature: 5 } });
  expect(status?.atLeastSeconds).toBeGreaterThan(110);
});
