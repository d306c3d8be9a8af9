// A high client may itself wait for a best-effort one; then holding that one for ever would be a deadlock. It starts up,
// or it waits for somebody else: where the rules let it hold best-effort work all the while, there is the trickle.
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { blockedBurst, cotenantItself, eventually, startMachine } from "./machine.ts";

/** As much as is needed to tell that GPU work of its went through. */
const oneIteration =
  'load --arrivals closed --seconds 0.01 --warmup 0.01 --kernels 5 --kernel-us 50 && touch "$0"';

/** A high client that looks at nothing until a file is there, and a best-effort one that makes it. */
async function startPair(...rules: string[]) {
  const machine = await startMachine({}, ...rules);
  const file = `${machine.directory}/done`;
  const high = machine.run("high", blockedBurst(file));
  await high.said("waiting");
  // It does not wait for the agent itself.
  await eventually("it has attached", async () => (await machine.status()).gpus.length > 0);
  await eventually("its burst is open", () => (machine.memory().high[0]?.busySince ?? 0) !== 0);
  const startBestEffort = () =>
    machine.run("best-effort", ["sh", "-c", `${cotenantItself.join(" ")} ${oneIteration}`, file]);
  return { machine, file, high, startBestEffort };
}

test("a high client that waits for a best-effort one gets what it waits for, at a trickle", async () => {
  const { machine, file, high, startBestEffort } = await startPair("--set", "shareAfterUs=0");
  const bestEffort = startBestEffort();
  const isHeld = () => (machine.memory().holds[0]?.active ?? 0) !== 0;
  const bestEffortNow = async () => (await machine.status()).gpus[0]?.bestEffort[0];
  let wasHeld = false;
  let wasLetGo = false;
  let trickles = 0;
  await eventually("the best-effort iteration is done", async () => {
    trickles = Math.max(trickles, (await bestEffortNow())?.trickles ?? 0);
    // Between its end and the file there is no client that could be held.
    const isLetGo = wasHeld && !existsSync(file) && !isHeld() && !existsSync(file);
    wasLetGo ||= isLetGo && (await bestEffortNow()) !== undefined;
    wasHeld ||= isHeld();
    return existsSync(file);
  });
  expect({ wasHeld, wasLetGo }).toEqual({ wasHeld: true, wasLetGo: false });
  expect(trickles).toBeGreaterThan(0);
  expect(await bestEffort.ended).toMatchObject({ status: 0 });
  expect(await high.ended).toMatchObject({ status: 0, stderr: "waiting\n" });
});

test("a high client of which no launch is seen to end takes turns with best-effort work", async () => {
  const { machine, high, startBestEffort } = await startPair();
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
  expect(await startBestEffort().ended).toMatchObject({ status: 0 });
  expect(await high.ended).toMatchObject({ status: 0, stderr: "waiting\n" });
});
