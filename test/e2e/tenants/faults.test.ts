import { expect, test } from "vitest";
import { misbehave } from "./faults.ts";
import { allowed } from "./shared-machine.ts";

test.skipIf(!allowed)(
  "faults of one tenant, hundreds in a row, cost others no request and win it nothing",
  async () => {
    expect(await misbehave(500, 7)).toBe(500);
  },
);
