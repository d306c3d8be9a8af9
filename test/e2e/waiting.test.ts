// A high client may itself wait for a best-effort one; then holding that one for ever would be a deadlock.
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { cotenantItself, eventually, openBurst, startMachine } from "./machine.ts";

/** As much as is needed to tell that GPU work of its went through. */
const oneIteration =
  'load --arrivals closed --seconds 0.01 --warmup 0.01 --kernels 5 --kernel-us 50 && touch "$0"';

test("a high client that waits for a best-effort one gets what it waits for, at a trickle", async () => {
  const machine = await startMachine();
  const file = `${machine.directory}/done`;
  const high = machine.run("high", openBurst(file));
  await high.said("waiting");
  const { activity } = machine.region().memory;
  await eventually("its burst is open", () => activity.active !== 0);

  const program = ["sh", "-c", `${cotenantItself.join(" ")} ${oneIteration}`, file];
  const bestEffort = machine.run("best-effort", program);
  let trickles = 0;
  await eventually("the best-effort iteration is done", async () => {
    const [gpu] = (await machine.status()).gpus;
    trickles = Math.max(trickles, gpu?.bestEffort[0]?.trickles ?? 0);
    if (!existsSync(file)) expect(activity.active).not.toBe(0);
    return existsSync(file);
  });
  expect(trickles).toBeGreaterThan(0);
  expect(await bestEffort.ended).toMatchObject({ status: 0 });
  expect(await high.ended).toMatchObject({ status: 0, stderr: "waiting\n" });
});
