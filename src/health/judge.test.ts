import { expect, test } from "vitest";
import { assessmentIn, follow, type Limits, MISSED_AFTER, type Track, worstOf } from "./judge.ts";

const limits: Limits = { healthyBelow: 2, unhealthyFrom: 4, overlimitFrom: 8, forSeconds: 3 };
const wording = { title: "load", show: (value: number) => `${value}` };

/** The track of values at seconds 0, 1, 2, …; undefined: not read. */
function tracked(...values: readonly (number | undefined)[]): Track | undefined {
  return values.reduce<Track | undefined>(
    (track, value, at) => follow(track, at, value, limits),
    undefined,
  );
}

const gradeOf = (track: Track | undefined, now: number) =>
  track && assessmentIn(track, now, limits, wording).grade;

test("a threshold counts when the reading has been up to it for long enough", () => {
  expect(gradeOf(tracked(1, 5, 5, 5), 3)).toBe("between");
  expect(gradeOf(tracked(1, 5, 5, 5, 5), 4)).toBe("unhealthy");
  expect(gradeOf(tracked(1, 5, 5, 3, 5, 5), 5)).toBe("between");
});

test("a reading that was over the limit for less than that is unhealthy meanwhile, if it was that for long enough", () => {
  expect(gradeOf(tracked(5, 5, 5, 9), 3)).toBe("unhealthy");
  expect(gradeOf(tracked(9, 9, 9, 9), 3)).toBe("overlimit");
});

test("what has never been read is not judged, and a missing reading is no zero", () => {
  expect(tracked(undefined, undefined)).toBeUndefined();
  const over = tracked(9, 9, 9, 9, undefined, undefined);
  expect(gradeOf(over, 5)).toBe("overlimit");
  expect(gradeOf(over, 3 + MISSED_AFTER + 1)).toBe("overlimit");
});

test("a good reading that stays away becomes an unhealthy one, which says so", () => {
  const good = tracked(1, 1, Number.NaN);
  expect(gradeOf(good, 1 + MISSED_AFTER)).toBe("healthy");
  expect(good && assessmentIn(good, 8, limits, wording)).toEqual({
    grade: "unhealthy",
    cause: "load has not been read for 7 s; it was 1",
  });
});

test("a reading that is not judged may stay away", () => {
  const off = {
    ...limits,
    healthyBelow: Infinity,
    unhealthyFrom: Infinity,
    overlimitFrom: Infinity,
  };
  const track = follow(undefined, 0, 1, off);
  expect(track && assessmentIn(track, 60, off, wording).grade).toBe("healthy");
});

test("the worst reading counts and is the cause", () => {
  const cause = (grade: "healthy" | "unhealthy" | "overlimit", cause: string) => ({ grade, cause });
  expect(
    worstOf([cause("unhealthy", "a"), cause("overlimit", "b"), cause("healthy", "c")]),
  ).toEqual(cause("overlimit", "b"));
  expect(worstOf([]).grade).toBe("healthy");
});
