// A sample of the random programs of `npm run soak`, always the same.
import { expect, test } from "vitest";
import { checkPrograms } from "./check.ts";

test("100 random programs do what they do natively, and no call takes long", async () => {
  expect(await checkPrograms({ runs: 100, seed: 17 })).toBeUndefined();
});
