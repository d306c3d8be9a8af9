// The wall clock may step at any moment (NTP, a virtual machine that was suspended): nothing may hang on it.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { service, training } from "./faults.ts";
import { eventually, now, perSecond, startMachine, temporaryDirectory } from "./machine.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** A library that makes the wall clock jump by up to a year at every sample. */
function steppingClock(): string {
  const library = `${temporaryDirectory()}/stepping-clock.so`;
  const source = fileURLToPath(new URL("./stepping-clock.cpp", import.meta.url));
  execFileSync("g++", ["-std=c++17", "-O1", "-shared", "-fPIC", "-o", library, source]);
  return library;
}

test("a wall clock that steps all the time changes nothing, neither for agent, commands nor clients", async () => {
  const LD_PRELOAD = steppingClock();
  const twoLooks = "const a = Date.now(); console.log(Math.abs(Date.now() - a))";
  const step = execFileSync(process.execPath, ["-e", twoLooks], { env: { LD_PRELOAD } });
  expect(Number(step)).toBeGreaterThan(3_600_000);

  const machine = await startMachine({ LD_PRELOAD });
  const high = machine.load("high", service);
  await high.serving;
  const bestEffort = machine.load("best-effort", training);
  await bestEffort.serving;
  const begun = now();
  await pause(1500);
  const end = now();
  await eventually("best-effort work runs, and is held", async () => {
    const { heldSeconds, finishedSeconds } = await machine.bestEffortOf(bestEffort);
    return heldSeconds > 0 && finishedSeconds > 0;
  });
  const { agent } = await machine.status();
  expect(agent.upSeconds).toBeLessThan(600);
  const served = (await high.finish()).served;
  expect(perSecond(served, begun, end)).toBeGreaterThan(0);
  expect((await bestEffort.finish()).result.requests).toBeGreaterThan(0);
  expect(await machine.cotenant(["down"])).toMatchObject({ status: 0 });
});

test("the wall clock is read in one place, for dates, and nothing is reckoned with it", () => {
  const wallClock =
    /\bDate\.now\b|new Date\(\)|\bDate\(\)|CLOCK_REALTIME|CLOCK_TAI|\bgettimeofday\b|\bsystem_clock\b|[^_\w.]time\((nullptr|NULL|0|&)/;
  const found = ["src", "lab", "native/interposer", "native/gate", "native/softgpu"]
    .flatMap((folder) =>
      readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" }).map(
        (file) => `${folder}/${file}`,
      ),
    )
    .filter((path) => /\.(ts|cpp|h)$/.test(path) && !path.endsWith(".test.ts"))
    .flatMap((path) =>
      readFileSync(`${root}${path}`, "utf8")
        .split("\n")
        .filter((line) => wallClock.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );
  expect(found.sort()).toEqual([
    "src/core/clock.ts: export const wallNow = (): WallMillis => wallMillis(Date.now());",
  ]);
});
