import { describe, expect, test } from "vitest";
import { differ, isQuiet, type Load, noLoad, withLoad } from "./load.ts";

/** So many seconds at so many bursts a second of so many us each, four looks a second. */
function loadAfter(
  was: Load,
  seconds: number,
  perS: number,
  burstUs: number,
  company = true,
): Load {
  let load = was;
  for (let look = 0; look < seconds * 4; look++) {
    const bursts = perS / 4;
    load = withLoad(load, { bursts, waitedUs: bursts * burstUs, seconds: 0.25 }, company);
    if (look > 0 && load.change) return load;
  }
  return load;
}

const usual = loadAfter(noLoad, 20, 60, 4000);

describe("the load", () => {
  test.each([
    { what: "as ever", perS: 60, burstUs: 4000, change: undefined },
    { what: "a little more", perS: 76, burstUs: 4000, change: undefined },
    { what: "half as much again", perS: 120, burstUs: 4000, change: "rose" },
    { what: "a sixth", perS: 12, burstUs: 4000, change: "fell" },
    { what: "longer bursts", perS: 60, burstUs: 9000, change: "rose" },
    { what: "shorter bursts", perS: 60, burstUs: 1000, change: undefined },
  ])("$what: $change", ({ perS, burstUs, change }) => {
    expect(loadAfter(usual, 1, perS, burstUs).change).toBe(change);
  });

  test("from 10 to 60 bursts a second is seen within three quarters of a second", () => {
    expect(loadAfter(loadAfter(noLoad, 20, 12, 10_000), 0.75, 60, 10_000).change).toBe("rose");
  });

  test("alone tells nothing: a burst is shorter then", () => {
    expect(loadAfter(usual, 10, 120, 1000, false).change).toBeUndefined();
  });

  test("of a client that was silent rises with its first burst", () => {
    const silent = loadAfter(usual, 61, 0, 0, false);
    expect(isQuiet(silent)).toBe(true);
    expect(withLoad(silent, { bursts: 1, waitedUs: 1, seconds: 0.25 }, false).change).toBe("rose");
  });
});

test("two short stretches differ only by more than chance", () => {
  expect(differ({ bursts: 10, seconds: 4 }, { bursts: 50, seconds: 10 })).toBe(false);
  expect(differ({ bursts: 40, seconds: 4 }, { bursts: 600, seconds: 10 })).toBe(true);
  expect(differ({ bursts: 600, seconds: 1 }, { bursts: 600, seconds: 10 })).toBe(false);
});
