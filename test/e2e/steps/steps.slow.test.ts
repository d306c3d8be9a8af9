// A service that works as an LLM engine does, and reports its requests: its steps are recognised, and an objective about
// requests is judged by what it tells, without an endpoint.
import { expect, test } from "vitest";
import type { HighStatus } from "#agent";
import { service, training } from "../faults.ts";
import { eventually, type Machine, startMachine } from "../machine.ts";

/** Five requests a second of eight tokens of 10 ms each. */
const engine =
  "--arrivals uniform --rate 5 --tokens 8 --kernels 20 --kernel-us 500 --report --warmup 0.1 --seconds 3600".split(
    " ",
  );

async function highOf(machine: Machine): Promise<HighStatus | undefined> {
  return (await machine.status()).gpus.flatMap(({ high }) => high)[0];
}

const said = async (machine: Machine) =>
  (await machine.cotenant(["status"])).stdout.replace(/\s+/g, " ");

test("steps of an engine are recognised, and requests that it reports are timed", async () => {
  const machine = await startMachine();
  await machine.load("high", engine).serving;
  await eventually("steps", async () => ((await highOf(machine))?.steps?.stepsPerS ?? 0) > 20);
  const { steps, unit, burstsPerS = 0 } = (await highOf(machine)) ?? {};
  expect(unit).toBe("step");
  expect(steps?.burstsEach).toBeGreaterThan(1.5);
  expect(steps?.burstsEach).toBeLessThan(2.5);
  // A token is 10 ms of kernels, and on a slow machine more.
  expect(steps?.stepP50Us).toBeGreaterThan(9_900);
  expect(burstsPerS).toBeGreaterThan(1.5 * (steps?.stepsPerS ?? 0) - 5);
  await eventually("requests", async () => ((await highOf(machine))?.told?.perS ?? 0) > 1);
  const { told } = (await highOf(machine)) ?? {};
  expect(told).toMatchObject({ failed: 0, forgotten: 0 });
  const { ttft, tpot, e2e } = told?.times ?? {};
  expect(ttft?.p50Us).toBeGreaterThan(9_900);
  expect(tpot?.p50Us).toBeGreaterThan(9_900);
  expect(e2e?.p50Us).toBeGreaterThan(8 * 9_900);
  expect(await said(machine)).toMatch(
    /steps of \S+ \(pid \d+\) in the last 4 s: [\d.]+ a second of (1\.[5-9]|2(\.[0-4])?) bursts each/,
  );
  expect(await said(machine)).toMatch(/requests that \S+ \(pid \d+\) reports: [\d.]+ a second/);
});

test("an objective about requests is climbed to by what the program tells, without an endpoint", async () => {
  const machine = await startMachine({}, "--policy", "slo");
  const objective = { COTENANT_SLO_TPOT_US: "600000000", COTENANT_SLO_E2E_US: "3000000000" };
  await machine.load("high", engine, objective).serving;
  await machine.load("best-effort", training).serving;
  await eventually("level 2", async () => ((await highOf(machine))?.objective?.level ?? 0) >= 2);
  await eventually("met", async () => (await highOf(machine))?.objective?.state === "met");
  const { requests } = (await highOf(machine)) ?? {};
  expect(requests).toMatchObject({ url: "", kinds: [{ kind: "tpot" }, { kind: "e2e" }] });
  expect(requests?.unheard).toBeUndefined();
});

test("an objective that no program can meet gets full protection", async () => {
  const machine = await startMachine({}, "--policy", "slo");
  await machine.load("high", engine, { COTENANT_SLO_TPOT_US: "100" }).serving;
  await machine.load("best-effort", training).serving;
  let objective: HighStatus["objective"];
  // A moment without a token has no tightest part.
  await eventually("missed", async () => {
    objective = (await highOf(machine))?.objective;
    return objective?.state === "missed" && objective.tightest !== undefined;
  });
  expect(objective).toMatchObject({ level: 0, tightest: "tpot" });
});

test("a slowdown is one of steps: alone they take a token's time, and there is room for another level", async () => {
  const machine = await startMachine({}, "--policy", "slo");
  const high = machine.load("high", engine, { COTENANT_SLO_SLOWDOWN: "100000" });
  await high.serving;
  await eventually("steps", async () => (await highOf(machine))?.unit === "step");
  await machine.load("best-effort", training).serving;
  await eventually("level 1", async () => ((await highOf(machine))?.objective?.level ?? 0) >= 1);
  const { alone, slowdown, unit } = (await highOf(machine)) ?? {};
  expect(unit).toBe("step");
  expect(alone?.p99Us).toBeGreaterThan(9_900);
  expect(slowdown).toBeLessThan(100);
});

test("a program that reports nothing is told what it lacks", async () => {
  const machine = await startMachine({}, "--policy", "slo");
  await machine.load("high", service, { COTENANT_SLO_TTFT_US: "250000" }).serving;
  await eventually("unheard", async () => (await highOf(machine))?.objective?.state === "unheard");
  expect(await said(machine)).toContain(
    "its service does not report its requests: it has not reported one yet (cotenant_request_begin)",
  );
});
