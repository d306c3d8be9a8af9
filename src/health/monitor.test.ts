import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Grade, type Health, type Monitor, newMonitor, watch } from "./monitor.ts";

const seen = (grade: Grade) => ({ grade, cause: `it is ${grade}` });

/** Each grade at its time, from a new monitor. */
function through(...looks: readonly (readonly [at: number, grade: Grade])[]) {
  let monitor = newMonitor();
  const states: Health[] = [];
  for (const [at, grade] of looks) {
    ({ monitor } = watch(monitor, at, seen(grade)));
    states.push(monitor.health);
  }
  return { monitor, states };
}

describe("the edges of Figure 6b", () => {
  test("Init becomes Healthy when the GPU is first judged, and what is bad then counts at once", () => {
    const { monitor, steps } = watch(newMonitor(), 0, seen("unhealthy"));
    expect(monitor.health).toBe("unhealthy");
    expect(steps.map(({ from, to }) => [from, to])).toEqual([
      ["init", "healthy"],
      ["healthy", "unhealthy"],
    ]);
  });

  test("Healthy goes to Unhealthy or straight to Overlimit", () => {
    expect(through([0, "healthy"], [1, "unhealthy"]).states).toEqual(["healthy", "unhealthy"]);
    expect(through([0, "healthy"], [1, "overlimit"]).states).toEqual(["healthy", "overlimit"]);
  });

  test("between the thresholds a state stays what it is", () => {
    expect(through([0, "healthy"], [1, "between"]).states.at(-1)).toBe("healthy");
    expect(through([0, "unhealthy"], [1, "between"]).states.at(-1)).toBe("unhealthy");
  });

  test("Overlimit goes back to Unhealthy only, and only after its period", () => {
    const { states } = through(
      [0, "overlimit"],
      [119, "healthy"],
      [120, "overlimit"],
      [121, "healthy"],
      [122, "healthy"],
    );
    expect(states).toEqual(["overlimit", "overlimit", "overlimit", "unhealthy", "healthy"]);
  });

  test("Disabled is reached from everywhere, and left for Init as soon as the GPU can be used", () => {
    const { monitor } = through([0, "overlimit"], [1, "unavailable"], [2, "unavailable"]);
    expect(monitor.health).toBe("disabled");
    const { steps } = watch(monitor, 3, seen("between"));
    expect(steps.map(({ to }) => to)).toEqual(["init", "healthy"]);
  });
});

test("the period doubles with each entry of the last two hours, and entries before them do not count", () => {
  const periods: number[] = [];
  let monitor: Monitor = newMonitor();
  for (const at of [0, 1000, 2000, 9000]) {
    ({ monitor } = watch(monitor, at, seen("overlimit")));
    periods.push(monitor.until - at);
    while (monitor.health !== "healthy")
      ({ monitor } = watch(monitor, monitor.until, seen("healthy")));
  }
  // At 9,000 s the entry at 0 s and the one at 1,000 s are older than two hours.
  expect(periods).toEqual([120, 240, 480, 240]);
});

test("each transition names its cause", () => {
  const { monitor, steps } = watch(through([0, "healthy"]).monitor, 5, {
    grade: "overlimit",
    cause: "temperature 3 °C above",
  });
  expect(steps).toEqual([{ from: "healthy", to: "overlimit", cause: "temperature 3 °C above" }]);
  expect(monitor).toMatchObject({ since: 5, cause: "temperature 3 °C above" });
});

test("whatever is seen, only edges of the figure are taken, and Overlimit is never left early", () => {
  const edges = new Set([
    "init healthy",
    "healthy unhealthy",
    "healthy overlimit",
    "unhealthy healthy",
    "unhealthy overlimit",
    "overlimit unhealthy",
    "disabled init",
  ]);
  const grades = fc.constantFrom<Grade>(
    "healthy",
    "between",
    "unhealthy",
    "overlimit",
    "unavailable",
  );
  const looks = fc.array(fc.tuple(fc.integer({ min: 0, max: 300 }), grades), { maxLength: 60 });
  fc.assert(
    fc.property(looks, (given) => {
      let monitor = newMonitor();
      let now = 0;
      for (const [wait, grade] of given) {
        now += wait;
        const was = monitor;
        const found = watch(monitor, now, seen(grade));
        for (const { from, to } of found.steps) {
          if (to !== "disabled") expect(edges.has(`${from} ${to}`)).toBe(true);
          if (from === "overlimit" && to === "unhealthy")
            expect(now).toBeGreaterThanOrEqual(was.until);
        }
        ({ monitor } = found);
        if (grade === "unavailable") expect(monitor.health).toBe("disabled");
        if (monitor.health === "healthy") expect(["unhealthy", "overlimit"]).not.toContain(grade);
      }
    }),
  );
});
