import { describe, expect, test } from "vitest";
import { bucketCount, bucketOf } from "#protocol";
import type { Look, Memory } from "./policy.ts";
import { slo } from "./slo.ts";

/** A minute of looks at a service whose bursts of 2 ms are far within its 10 ms. */
function minute(company: Look["company"]): Memory | undefined {
  let memory: Memory | undefined;
  const ended = new Uint32Array(bucketCount);
  ended[bucketOf(2e6)] = 25;
  for (let look = 0; look < 240; look++)
    memory = slo.remember?.(
      {
        isolated: true,
        nowMs: 250 * look,
        company,
        high: [
          {
            id: "one",
            name: "serve",
            burstP50Us: 2000,
            objective: { p99Us: 10_000, slowdown: undefined },
            ended,
            waited: ended,
          },
        ],
      },
      memory,
    );
  return memory;
}

describe("bursts say that a level holds", () => {
  test("when they ended in company", () => {
    expect(minute(true)?.level).toBeGreaterThan(0);
    expect(minute(true)?.clients.get("one")?.state).toBe("met");
  });

  test("not when nobody can tell whether they did", () => {
    expect(minute(undefined)?.level).toBe(0);
    expect(minute(undefined)?.clients.get("one")?.state).toBe("learning");
  });
});
