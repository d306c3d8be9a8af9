// `npm run soak`: COTENANT_PROGRAMS (10,000 if not given) random programs. COTENANT_SEED repeats them, and with
// COTENANT_PATH one that failed.
import { expect, test } from "vitest";
import { checkPrograms } from "./check.ts";

const runs = Number(process.env.COTENANT_PROGRAMS ?? 10_000);
const seed = Number(process.env.COTENANT_SEED ?? Date.now() % 2 ** 31);

test(`${runs} random programs do what they do natively, and no call takes long`, async () => {
  const began = performance.now();
  const progress = (done: number) => {
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    if (done % 500 === 0)
      console.log(`soak: ${done} of ${runs} programs, ${seconds} s, seed ${seed}`);
  };
  const path = process.env.COTENANT_PATH;
  expect(await checkPrograms({ runs, seed, path, progress })).toBeUndefined();
});
