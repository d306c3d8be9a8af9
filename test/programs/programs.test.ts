// A sample of the random programs of `npm run soak`, always the same.
import { expect, test } from "vitest";
import { checkPrograms } from "./check.ts";

// Two minutes on two idle cores.
test("2,000 random programs do what they do natively, and no call takes long", {
  timeout: 3_600_000,
}, async () => {
  expect(await checkPrograms({ runs: 2000, seed: 17 })).toBeUndefined();
});
