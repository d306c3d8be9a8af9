// `npm run soak`: one machine, two clients that must come through, and COTENANT_SOAK faults (1,000 if not
// given) at random instants around them. COTENANT_SEED repeats a sequence; the instants within the processes
// are new each time.
import { readdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Random, sfc32 } from "#core";
import type { ClientClass } from "#protocol";
import {
  busyService,
  freezeAgent,
  INSTANTS_MS,
  killClient,
  killQuickClient,
  QUICK_INSTANTS_MS,
  replaceAgent,
  service,
  training,
  writeNoise,
} from "./faults.ts";
import { eventually, type Load, type Machine, serviceP50Us, startMachine } from "./machine.ts";

const count = Number(process.env.COTENANT_SOAK ?? 1000);
const seed = Number(process.env.COTENANT_SEED ?? Date.now() % 2 ** 31);

/** Clients this old report what they did and make room for new ones. */
const FAULTS_PER_PAIR = 100;

interface Fault {
  readonly name: string;
  /** How often it comes: those that start a process of Node take seconds. */
  readonly weight: number;
  happen(machine: Machine, afterMs: number, random: Random): Promise<void>;
}

const quick = (kind: ClientClass, what: Parameters<typeof killQuickClient>[2]): Fault => ({
  name: `${kind} client killed: ${what}`,
  weight: 20,
  happen: (machine, _, random) =>
    killQuickClient(machine, kind, what, random() * QUICK_INSTANTS_MS),
});

const faults: readonly Fault[] = [
  ...(["work", "endless", "memory"] as const).flatMap((what) => [
    quick("best-effort", what),
    quick("high", what),
  ]),
  {
    name: "both killed, one parked on the other",
    weight: 20,
    async happen(machine, _, random) {
      const [one, other] = [random(), random()].map((part) => part * QUICK_INSTANTS_MS);
      await Promise.all([
        killQuickClient(machine, "high", "endless", one ?? 0),
        killQuickClient(machine, "best-effort", "work", other ?? 0),
      ]);
    },
  },
  {
    name: "a program of Node killed",
    weight: 1,
    happen: (machine, afterMs, random) =>
      random() < 0.5
        ? killClient(machine, "best-effort", training, afterMs)
        : killClient(machine, "high", busyService, afterMs),
  },
  {
    name: "agent killed and replaced",
    weight: 2,
    happen: (machine, afterMs) => pause(afterMs / 4).then(() => replaceAgent(machine, afterMs / 4)),
  },
  {
    name: "agent killed and replaced while a client starts, which is killed as well",
    weight: 2,
    async happen(machine, afterMs, random) {
      const victim = machine.load(random() < 0.5 ? "high" : "best-effort", training);
      await pause(afterMs / 2);
      await replaceAgent(machine, 0);
      await pause((random() * INSTANTS_MS) / 2);
      victim.signal("SIGKILL");
      await victim.ended;
      await eventually("its slot is free", async () => !(await machine.slotOf(victim)));
    },
  },
  {
    name: "noise in shared memory",
    weight: 5,
    happen: (machine, ms, random) => writeNoise(machine, ms / 10, random),
  },
  {
    name: "agent stopped for a while",
    weight: 2,
    happen: (machine, ms) => freezeAgent(machine, ms),
  },
];
const weights = faults.reduce((sum, { weight }) => sum + weight, 0);

function drawn(random: Random): Fault {
  let left = random() * weights;
  const found = faults.find(({ weight }) => {
    left -= weight;
    return left < 0;
  });
  if (!found) throw new Error("random() is not below 1");
  return found;
}

/** Connected, and with more work done a moment later. */
async function getsOn(machine: Machine, load: Load): Promise<void> {
  const before = (await machine.slotOf(load))?.launches ?? 0;
  await eventually(`pid ${load.pid} gets on`, async () => {
    const own = await machine.slotOf(load);
    return own?.connected === true && own.launches > before;
  });
}

async function startPair(machine: Machine): Promise<readonly [Load, Load]> {
  const high = machine.load("high", service);
  await high.serving;
  const bestEffort = machine.load("best-effort", training);
  await bestEffort.serving;
  return [high, bestEffort];
}

test(`${count} faults at random instants leave two clients unharmed`, async () => {
  const random = sfc32(seed);
  const tally = new Map<string, number>();
  const p50sUs: number[] = [];
  const machine = await startMachine();
  const began = performance.now();
  for (let done = 0; done < count; ) {
    const pair = await startPair(machine);
    const until = Math.min(done + FAULTS_PER_PAIR, count);
    for (; done < until; done++) {
      const fault = drawn(random);
      const afterMs = Math.round(random() * INSTANTS_MS);
      const what = `fault ${done + 1}: ${fault.name}, ${afterMs} ms (COTENANT_SEED=${seed})`;
      try {
        await fault.happen(machine, afterMs, random);
        for (const load of pair) await getsOn(machine, load);
      } catch (cause) {
        throw new Error(`${what}: ${cause}`, { cause });
      }
      tally.set(fault.name, (tally.get(fault.name) ?? 0) + 1);
    }
    for (const [i, load] of pair.entries()) {
      const { result, served } = await load.finish();
      expect(result.requests).toBeGreaterThan(0);
      if (i === 0) p50sUs.push(serviceP50Us(served));
    }
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    console.log(`soak: ${done} of ${count} faults, ${seconds} s, seed ${seed}`);
  }
  await eventually("all slots are free", async () =>
    (await machine.status()).gpus.every(
      ({ high, bestEffort }) => !high.length && !bestEffort.length,
    ),
  );
  const { agent } = await machine.status();
  const open = readdirSync(`/proc/${agent.pid}/fd`).length;
  const range = [Math.min(...p50sUs), Math.max(...p50sUs)].map((us) => (us / 1000).toFixed(2));
  console.log(
    [
      `soak: ${count} faults survived (seed ${seed})`,
      ...[...tally].map(([name, times]) => `  ${times} x ${name}`),
      `  high client's service p50 from pair to pair: ${range.join(" to ")} ms`,
      `  agent at the end: ${(agent.residentBytes / 2 ** 20).toFixed(0)} MiB, ${open} descriptors`,
    ].join("\n"),
  );
});
