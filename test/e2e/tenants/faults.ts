// A tenant that makes faults as fast as it can beside a service and a training of other users, and what must hold; shared
// by the sample in `npm test` and the 100,000 of `npm run soak`.
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { pathsIn } from "#agent";
import type { Result } from "#load";
import { BestEffortSlot, classes, Hello, helloKinds, Region, Welcome } from "#protocol";
import { helloBytes } from "../../agent/fakes.ts";
import { service, training } from "../faults.ts";
import { eventually, withoutLate } from "../machine.ts";
import { HIGH_UID, OTHER_UID, python, SOFT_GPU, sharedMachine } from "./shared-machine.ts";

/** Best-effort, too. */
const MISBEHAVING_UID = 3000;

const program = fileURLToPath(new URL("../programs/misbehave.py", import.meta.url));

/** Returns how many faults there were: at least `count`. */
export async function misbehave(count: number, seed: number): Promise<number> {
  const { machine, program: start, load } = await sharedMachine();
  const others = [
    load(HIGH_UID, "high", service),
    load(OTHER_UID, "best-effort", training),
  ] as const;
  for (const other of others) await other.said("load: serving");
  const { pid } = machine.agent();

  const tenant = start(MISBEHAVING_UID, python, program, ...argumentsFor(machine.directory, seed));
  let made = 0;
  let launches = [0, 0];
  while (made < count) {
    made += 100;
    await tenant.said(`faults: ${made}\n`);
    if (made % 1000 !== 0 && made < count) continue;
    const { gpus, agent } = await machine.status();
    expect(agent.pid).toBe(pid);
    const known = gpus.flatMap(({ high, bestEffort }) => [...high, ...bestEffort]);
    const own = [HIGH_UID, OTHER_UID].map((uid) =>
      known.find(({ identity }) => identity?.uid === uid),
    );
    expect(known.filter(({ identity }) => identity?.uid === MISBEHAVING_UID).length).toBeLessThan(
      2,
    );
    const now = own.map((one) => one?.launches ?? 0);
    for (const [i, more] of now.entries()) expect(more).toBeGreaterThan(launches[i] ?? 0);
    launches = now;
  }
  tenant.signal("SIGKILL");
  expect((await tenant.ended).stderr).not.toContain("WON");

  await eventually("its slot is free", async () =>
    (await machine.status()).gpus.every(({ bestEffort }) =>
      bestEffort.every(({ identity }) => identity?.uid !== MISBEHAVING_UID),
    ),
  );
  const { gpus } = await machine.status();
  for (const { pid } of gpus.flatMap(({ high, bestEffort }) => [...high, ...bestEffort]))
    process.kill(pid, "SIGTERM");
  for (const other of others) {
    const { status, stdout, stderr } = await other.ended;
    // On a busy machine the agent may have answered late, before there were faults.
    const said = withoutLate(stderr).match(/^cotenant: .*/gm) ?? [];
    expect({ status, said }).toEqual({ status: 0, said: [] });
    expect(JSON.parse(stdout) as Result).toMatchObject({ intact: true });
  }
  return made;
}

function argumentsFor(directory: string, seed: number): readonly string[] {
  const { pid, startTime, slot, kind, class: ofClass } = Hello.offsets;
  const places = {
    ...{ pid, startTime, slot, kind, class: ofClass },
    ...{ high: classes.high, reattach: helloKinds.reattach },
    ...{ status: Welcome.offsets.status, welcomeSize: Welcome.size },
    ownSizes: [BestEffortSlot.size, Region.fields.holds.struct.size],
  };
  const hello = Buffer.from(helloBytes({ class: "best-effort", gpu: SOFT_GPU })).toString("hex");
  return [pathsIn(directory).sharedSocket, hello, JSON.stringify(places), `${seed}`];
}
