import { expect, test } from "vitest";
import { parseHealth } from "./given.ts";
import { limitsFor, readingNames, readings } from "./readings.ts";

test("thresholds that are given replace the usual ones of that reading alone", () => {
  const { limits, backOff } = parseHealth(["memory=0.8,0.9,0.99", "power=1,1.1,-", "backOff=5"]);
  const all = limitsFor(false, limits);
  expect(all.memory).toMatchObject({ healthyBelow: 0.8, unhealthyFrom: 0.9, overlimitFrom: 0.99 });
  expect(all.memory.forSeconds).toBe(readings.memory.forSeconds);
  expect(all.power.overlimitFrom).toBe(Infinity);
  expect(all.temperature).toMatchObject({ healthyBelow: -8, unhealthyFrom: -5, overlimitFrom: 0 });
  expect(backOff).toBe(5);
});

test("a reading that is off never makes a GPU unhealthy", () => {
  const { limits } = parseHealth(["temperature=off"]);
  expect(limitsFor(false, limits).temperature.unhealthyFrom).toBe(Infinity);
});

test("on the software GPU the machine is judged only where that is asked for", () => {
  expect(limitsFor(true).memoryPressure.unhealthyFrom).toBe(Infinity);
  expect(limitsFor(true).memory.unhealthyFrom).toBe(0.95);
  const { limits } = parseHealth(["memoryPressure=0.1,0.2,0.3"]);
  expect(limitsFor(true, limits).memoryPressure.unhealthyFrom).toBe(0.2);
});

test.each([
  ["heat=1,2,3", 'No reading of a GPU\'s health is called "heat".'],
  ["memory=0.9", "--health memory=0.9: not three numbers that do not fall"],
  ["memory=0.9,0.8,1", "--health memory=0.9,0.8,1: not three numbers"],
  ["memory=-,0.8,1", "--health memory=-,0.8,1: not three numbers"],
  ["memory=a,b,c", "--health memory=a,b,c: not three numbers"],
  ["backOff=0", "--health backOff=0: not seconds, such as 60."],
])("%s is refused with a sentence", (text, message) => {
  expect(() => parseHealth([text])).toThrow(message);
});

test("the usual thresholds do not fall", () => {
  for (const name of readingNames) {
    const { healthyBelow, unhealthyFrom, overlimitFrom } = readings[name];
    expect(healthyBelow).toBeLessThanOrEqual(unhealthyFrom);
    expect(unhealthyFrom).toBeLessThanOrEqual(overlimitFrom);
  }
});
