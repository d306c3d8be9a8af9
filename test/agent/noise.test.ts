// Something writes over a client's counters while the policy learns: it must not be taken for bursts.
import { expect, test } from "vitest";
import { pathsIn } from "#agent";
import { ms, sfc32 } from "#core";
import { policyNamed } from "#policy";
import { bucketCount, bucketOf } from "#protocol";
import { startAgentHere } from "./agent-here.ts";
import { attach, HandClock, identified, temporaryDirectory } from "./fakes.ts";

const LOOKS_PER_S = 4;

/** A service whose bursts take twice as long at every level but full protection, beside a training that never stops. */
async function learning() {
  const clock = new HandClock();
  const directory = temporaryDirectory();
  const agent = await startAgentHere({
    directory,
    policy: policyNamed("cotenant"),
    clock,
    identify: (_, { pid }) => identified(pid),
  });
  const { socket } = pathsIn(directory);
  const serve = await attach(socket, { name: "serve", sloSlowdownPermille: 100 });
  const train = { class: "best-effort", name: "train", pid: 1, startTime: 1 } as const;
  const { bestEffort } = (await attach(socket, train)).memory();
  const { high, settings } = serve.memory();
  const [service, training] = [high[0], bestEffort[0]];
  if (!service || !training) throw new Error("no slots");
  const status = () => agent.status().gpus.flatMap((gpu) => gpu.high)[0];
  const unprotected = () => !settings.paused && (status()?.objective?.level ?? 0) >= 1;
  const look = () => {
    const us = settings.paused ? 2000 : unprotected() ? 4000 : 2050;
    for (const counts of [service.histogram, service.waits]) {
      const bucket = bucketOf(us * 1000);
      counts.set(bucket, counts.get(bucket) + 25);
    }
    service.bursts += 25;
    if (!settings.paused) training.finishedNs += 1e8;
    clock.advance(ms(1000 / LOOKS_PER_S));
    return unprotected();
  };
  return { service, look, status };
}

test.each([6, 10, 16])(
  "noise in its histograms for ten seconds does not cost a service its protection afterwards: seed %i",
  async (seed) => {
    const random = sfc32(seed + 1);
    const { service, look, status } = await learning();
    for (let i = 0; i < 10; i++) look();
    for (let i = 0; i < 10 * LOOKS_PER_S; i++) {
      for (let word = 0; word < 5; word++) {
        const counts = random() < 0.5 ? service.histogram : service.waits;
        counts.set(Math.floor(random() * bucketCount), Math.floor(random() * 4096));
      }
      look();
    }
    let unprotected = 0;
    const looks = 120 * LOOKS_PER_S;
    for (let i = 0; i < looks; i++) if (look()) unprotected++;
    expect(unprotected / looks).toBeLessThan(0.1);
    expect(status()?.implausible).toBeGreaterThan(30);
  },
);
