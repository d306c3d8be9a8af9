// A high client may itself wait for a best-effort one; then holding that one for ever would be a deadlock. It starts up,
// or it waits for somebody else: where the rules let it hold best-effort work all the while, there is minimum progress.
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { blockedBurst, cotenantItself, eventually, startMachine, withoutLate } from "./machine.ts";

/** A best-effort load of which little is enough to tell that its GPU work went through. */
const small = "--arrivals closed --warmup 0.01 --kernels 5 --kernel-us 50";

/** A high client that looks at nothing until a file is there. */
async function startBlocked(...rules: string[]) {
  const machine = await startMachine({}, ...rules);
  const file = `${machine.directory}/done`;
  const high = machine.run("high", blockedBurst(file));
  await high.said("waiting");
  // It does not wait for the agent itself.
  await eventually("it has attached", async () => (await machine.slotOf(high)) !== undefined);
  await eventually("its burst is open", () => (machine.memory().high[0]?.busySince ?? 0) !== 0);
  return { machine, file, high };
}

test("a high client that waits for a best-effort one gets what it waits for, at minimum progress", async () => {
  const { machine, file, high } = await startBlocked("--set", "startupTimeoutUs=0");
  const bestEffort = machine.load("best-effort", [...small.split(" "), "--seconds", "3600"]);
  await bestEffort.serving;
  const isHeld = () => (machine.memory().holds[0]?.active ?? 0) !== 0;
  await eventually("it is held", isHeld);
  const slot = () => machine.memory().bestEffort[0];
  const before = slot()?.finishedNs ?? 0;
  let wasLetGo = false;
  await eventually("work of it is done at minimum progress", () => {
    wasLetGo ||= !isHeld();
    return (slot()?.minProgress ?? 0) > 0 && (slot()?.finishedNs ?? 0) > before;
  });
  expect(wasLetGo).toBe(false);
  writeFileSync(file, "");
  const { status, stderr } = await high.ended;
  expect({ status, stderr: withoutLate(stderr) }).toEqual({ status: 0, stderr: "waiting\n" });
  await bestEffort.finish();
});

test("a high client of which no launch is seen to end takes turns with best-effort work", async () => {
  const { machine, file, high } = await startBlocked();
  const shared = () => machine.memory().high[0]?.sharedNs ?? 0;
  for (let turn = 0; turn < 3; turn++) {
    const before = shared();
    // It counts when it holds again.
    await eventually("best-effort work is let go, and held", () => shared() > before);
  }
  // The agent looks some times a second.
  const high0 = async () => (await machine.status()).gpus[0]?.high[0];
  await eventually("the share of time", async () => ((await high0())?.sharedShare ?? 0) > 0);
  expect((await high0())?.bursts).toBe(0);
  const bestEffort = `${cotenantItself.join(" ")} load ${small} --seconds 0.01 && touch "$0"`;
  const { ended } = machine.run("best-effort", ["sh", "-c", bestEffort, file]);
  expect(await ended).toMatchObject({ status: 0 });
  const { status, stderr } = await high.ended;
  expect({ status, stderr: withoutLate(stderr) }).toEqual({ status: 0, stderr: "waiting\n" });
});
