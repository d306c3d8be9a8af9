// A service and a training, started in any order and at any distance, time and again on one agent. Nobody gets a CUDA error
// and nobody is refused, also where the GPU takes no best-effort work for a moment. COTENANT_ROUNDS: how many rounds.
import { expect, test } from "vitest";
import { eventually, type Load, type Machine, startMachine } from "../machine.ts";
import { pretend } from "../protection/pretend.ts";

const ROUNDS = Number(process.env.COTENANT_ROUNDS ?? 20);
/** Between the two starts: from at once to after the first one serves. */
const DISTANCES_MS = [0, 100, 400, 1000, 2500];
const cool = { temperatureC: 60, slowdownC: 90 };
/** Unhealthy, not Overlimit, whose time doubles each time. */
const hot = { temperatureC: 86, slowdownC: 90 };

const service = ["--rate", "50", "--seconds", "3600", "--warmup", "0.1"];
const training = ["--arrivals", "closed", "--seconds", "3600", "--warmup", "0.1"];

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const closes = (machine: Machine) =>
  eventually("the GPU takes no best-effort client", async () => {
    const state = (await machine.status()).gpus[0]?.health?.state;
    return state === "unhealthy" || state === "overlimit";
  });

/** The service answers, and the training gets on, from now on. */
async function bothWork(machine: Machine) {
  const look = async () => {
    const [gpu] = (await machine.status()).gpus;
    const [bursts = 0, finished = 0] = [gpu?.high[0]?.bursts, gpu?.bestEffort[0]?.finishedSeconds];
    return { bursts, finished };
  };
  const before = await look();
  await eventually("both work", async () => {
    const { bursts, finished } = await look();
    return bursts > before.bursts && finished > before.finished;
  });
}

test(`a service and a training both work in ${ROUNDS} rounds, whoever comes first`, async () => {
  const machine = await startMachine({}, "--health", "lateness=0.8,1,4");
  const first = machine.load("high", service); // makes the software GPU
  await first.serving;
  await first.finish();
  let waited = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const distance = DISTANCES_MS[round % DISTANCES_MS.length] ?? 0;
    const starts = [
      () => machine.load("high", service),
      () => machine.load("best-effort", training),
    ];
    if (round % 2 === 1) starts.reverse();
    // In a quarter of the rounds the GPU is closed before, in another one it closes meanwhile.
    const isHot = round % 4 >= 2;
    if (isHot) pretend(machine, hot);
    if (isHot && round % 8 >= 4) await closes(machine);
    const loads: Load[] = [];
    for (const start of starts) {
      if (loads.length > 0) await pause(distance);
      loads.push(start());
    }
    // A high client is served; a best-effort one waits in `run`, at its first use of the GPU, or is held.
    if (isHot) await Promise.all([loads[round % 2]?.serving, closes(machine)]);
    pretend(machine, cool);
    await Promise.all(loads.map(({ serving }) => serving));
    await bothWork(machine);
    for (const load of loads) {
      const { result } = await load.finish();
      expect(result.requests).toBeGreaterThan(0);
      const { stderr } = await load.ended;
      expect(stderr).not.toMatch(/CUDA_ERROR|refuse/);
      if (stderr.includes("waits")) waited++;
    }
  }
  const { stdout: events } = await machine.cotenant(["events", "--json"]);
  expect(events).not.toContain('"event":"refused"');
  // Some met a closed GPU, or the test would show nothing of it.
  expect(waited).toBeGreaterThan(0);
  console.error(`${ROUNDS} rounds; the training waited in ${waited} of them`);
});
