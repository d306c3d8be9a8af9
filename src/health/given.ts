import { errors } from "#core";
import type { Limits } from "./judge.ts";
import { type ReadingName, readingNames } from "./readings.ts";

export interface HealthOptions {
  readonly limits: Partial<Record<ReadingName, Partial<Limits>>>;
  readonly backOff?: number;
}

const BACK_OFF = "backOff";
const OFF: Limits = {
  healthyBelow: Infinity,
  unhealthyFrom: Infinity,
  overlimitFrom: Infinity,
  forSeconds: 0,
};

/** "memory=0.9,0.95,0.99", "cpuPressure=off" or "backOff=30". Throws a UserError. */
export function parseHealth(texts: readonly string[]): HealthOptions {
  const limits: Partial<Record<ReadingName, Partial<Limits>>> = {};
  let backOff: number | undefined;
  for (const text of texts) {
    const [name = "", value = ""] = text.split(/=(.*)/s);
    if (name === BACK_OFF) backOff = positive(text, value);
    else if (isReading(name)) limits[name] = value === "off" ? OFF : limitsIn(text, value);
    else throw errors.unknownReading(name, [...readingNames, BACK_OFF]);
  }
  return { limits, ...(backOff === undefined ? {} : { backOff }) };
}

const isReading = (name: string): name is ReadingName =>
  (readingNames as readonly string[]).includes(name);

const THREE = "three numbers that do not fall, such as 0.9,0.95,1; - for the last: never Overlimit";

function limitsIn(text: string, value: string): Partial<Limits> {
  const words = value.split(",");
  const [healthyBelow, unhealthyFrom, overlimitFrom] = words.map((word, place) =>
    word === "-" && place === 2 ? Infinity : numberIn(word),
  );
  const whole =
    words.length === 3 &&
    healthyBelow !== undefined &&
    unhealthyFrom !== undefined &&
    overlimitFrom !== undefined &&
    healthyBelow <= unhealthyFrom &&
    unhealthyFrom <= overlimitFrom;
  if (!whole) throw errors.badHealth(text, THREE);
  return { healthyBelow, unhealthyFrom, overlimitFrom };
}

const numberIn = (word: string): number | undefined =>
  /^-?\d+(\.\d+)?$/.test(word) ? Number(word) : undefined;

function positive(text: string, value: string): number {
  const seconds = numberIn(value);
  if (seconds === undefined || seconds <= 0) throw errors.badHealth(text, "seconds, such as 60");
  return seconds;
}
