// COTENANT_TENANT_FAULTS (100,000 if not given) faults of one tenant. COTENANT_SEED repeats a sequence.
import { expect, test } from "vitest";
import { misbehave } from "./faults.ts";
import { allowed } from "./shared-machine.ts";

const count = Number(process.env.COTENANT_TENANT_FAULTS ?? 100_000);
const seed = Number(process.env.COTENANT_SEED ?? Date.now() % 2 ** 31);
/** Number of requests of one service beside one training. */
const IN_ONE_RUN = 5000;

test.skipIf(!allowed)(`${count} faults of a tenant from seed ${seed}`, async () => {
  let made = 0;
  while (made < count) {
    made += await misbehave(Math.min(IN_ONE_RUN, count - made), seed + made);
    console.error(`${made} of ${count} faults`);
  }
  expect(made).toBeGreaterThanOrEqual(count);
});
