// Long kernels of an unmodified program that can stop inside, from its PTX to its result.
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { eventually, startMachine } from "./machine.ts";

const service =
  "--arrivals uniform --rate 50 --kernels 5 --kernel-us 200 --warmup 0.1 --seconds 3600".split(" ");
/** Kernels of 8 ms in 40 rounds of blocks. */
const training =
  "--arrivals closed --depth 2 --kernels 3 --kernel-us 8000 --waves 40 --warmup 0.1 --seconds 3600".split(
    " ",
  );

test("a training of long kernels gets variants of them that can stop, and loses nothing", async () => {
  const machine = await startMachine({});
  const high = machine.load("high", service);
  await high.serving;
  const train = machine.load("best-effort", training);
  await train.serving;
  await eventually("launches that can stop", async () => {
    const { preemptible } = await machine.bestEffortOf(train);
    return preemptible.variants === 1 && preemptible.launches > 10;
  });
  // Ends badly unless every kernel took place exactly once.
  const { result } = await train.finish();
  expect(result.intact).toBe(true);
});

test("the process that makes variants is there before it is needed, and ends with its agent", async () => {
  const machine = await startMachine({});
  const { pid } = machine.agent();
  const children = () => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  expect(children()).toBe("");
  const train = machine.load("best-effort", training);
  await train.serving;
  await eventually("a process that makes variants", async () => children() !== "");
  const maker = children();
  expect(readFileSync(`/proc/${maker}/cmdline`, "utf8").split("\0")).toContain("make-variants");
  process.kill(pid, "SIGKILL");
  await eventually("its end", async () => !existsSync(`/proc/${maker}`));
});
