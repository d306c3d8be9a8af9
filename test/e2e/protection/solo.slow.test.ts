// SysMonitor beside a service that has the GPU to itself.
import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { eventually, startMachine } from "../machine.ts";

const program = fileURLToPath(new URL("../programs/growing-bursts.ts", import.meta.url));

test("a service that gets slower while it is alone leaves its GPU healthy, and a training may come", async () => {
  const health = ["--health", "lateness=0.8,1,4"]; // not judged on the software GPU otherwise
  const machine = await startMachine({}, "--policy", "slo", ...health);
  const file = `${machine.directory}/growth`;
  writeFileSync(file, "1");
  const high = machine.run("high", [process.execPath, "--import", "tsx", program, file], {
    COTENANT_SLO_SLOWDOWN: "100",
  });
  const gpu = async () => (await machine.status()).gpus[0];
  const service = async () => (await gpu())?.high[0];
  await eventually("its solo times are known", async () => (await service())?.alone !== undefined);
  const before = (await service())?.alone?.p99Us ?? Infinity;
  const isSlow = async () => ((await service())?.burstWaitP99Us ?? 0) > 5 * before;
  // On a busy machine bursts are long from the start, so that it is not known how much is slow.
  for (let growth = 2; !(await isSlow()); growth *= 2) {
    writeFileSync(file, `${growth}`);
    await pause(1000);
  }
  // A threshold counts after 8 s.
  const until = Date.now() + 10_000;
  while (Date.now() < until) {
    const { state, readings } = (await gpu())?.health ?? {};
    expect({ state, lateness: readings?.lateness }).toEqual({
      state: "healthy",
      lateness: undefined,
    });
    await pause(200);
  }
  expect(await isSlow()).toBe(true);
  const training = machine.load("best-effort", ["--arrivals", "closed", "--seconds", "3600"]);
  await training.serving;
  expect((await training.finish()).result.requests).toBeGreaterThan(0);
  high.signal("SIGTERM");
});
