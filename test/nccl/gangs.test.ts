// Ranks of a best-effort gang: their collectives are committed. The agent, the ranks and a service are started as by a person,
// on devices of the software GPU.
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { regionOf } from "../agent/region.ts";
import {
  type Client,
  eventually,
  type Machine,
  openBurst,
  startMachine,
  withoutLate,
} from "../e2e/machine.ts";
import { native } from "../native.ts";

let ports = 20_000;

/** The ranks of one run of a program, or some of them, each on a device of its own. */
function startRanks(
  machine: Machine,
  program: string,
  name: string,
  ranks = 2,
  env: Readonly<Record<string, string>> = {},
  some: readonly number[] = Array.from({ length: ranks }, (_, rank) => rank),
): { readonly ranks: readonly Client[]; readonly folder: string } {
  const folder = mkdtempSync(join(machine.directory, "ranks-"));
  const port = `${ports++}`;
  const all = some.map((rank) =>
    machine.run(
      "best-effort",
      [`${native}/tests/nccl/${program}`, name, join(folder, "identity")],
      {
        ...{ RANK: `${rank}`, LOCAL_RANK: `${rank}`, WORLD_SIZE: `${ranks}` },
        ...{ LOCAL_WORLD_SIZE: `${ranks}`, MASTER_ADDR: machine.directory, MASTER_PORT: port },
        ...env,
      },
    ),
  );
  return { ranks: all, folder };
}

const gangOf = async (machine: Machine, rank: Client | undefined) => {
  const found = rank && (await machine.slotOf(rank));
  const gang = found && "gang" in found ? found.gang : undefined;
  return gang ?? { ranks: 0, commits: 0, timeouts: 0, progress: 0 };
};

async function checked(ranks: readonly Client[]): Promise<readonly number[]> {
  const ends = await Promise.all(ranks.map(({ ended }) => ended));
  for (const { status, signal, stderr } of ends)
    expect({ status, signal, stderr: withoutLate(stderr) }).toEqual({
      ...{ status: 0, signal: null, stderr: "" },
    });
  return ends.map(({ stdout }) => (JSON.parse(stdout) as { checked: number }).checked);
}

const devices = (count: number) => ({ COTENANT_SOFTGPU: `devices=${count}` });

test.each<[program: string, name: string, ranks: number, checks: number]>([
  ["patterns", "data-parallel", 2, 20],
  ["patterns", "data-parallel", 4, 20],
  ["patterns", "sharded-data-parallel", 4, 4],
  ["patterns", "pipeline", 2, 4],
  ["patterns", "pipeline", 4, 4],
  ["patterns", "ring", 3, 4],
  ["patterns", "tensor-and-data-parallel", 4, 8],
  ["patterns", "types", 2, 13],
  ["gangs", "different-order", 2, 2],
  ["gangs", "opened", 2, 1],
])("%s %s of %i ranks ends with the right results", async (program, name, count, checks) => {
  const machine = await startMachine(devices(count));
  const { ranks } = startRanks(machine, program, name, count);
  expect(await checked(ranks)).toEqual(Array(count).fill(checks));
});

test("while a service is active on one rank's GPU, no rank begins a collective, and other streams go on", async () => {
  const machine = await startMachine(
    devices(2),
    "--set",
    "progressAfterUs=1000000",
    "--set",
    "startupTimeoutUs=0",
  );
  const { ranks, folder } = startRanks(machine, "gangs", "paused");
  await Promise.all(ranks.map((rank) => rank.said("ready")));
  await eventually(
    "the first collective is counted",
    async () => (await gangOf(machine, ranks[0])).commits > 0,
  );
  const service = machine.run("high", openBurst(join(folder, "done")));
  await service.said("waiting");
  await eventually(
    "rank 0 is paused",
    () => (regionOf(ranks[0]?.pid ?? 0)?.holds[0]?.word ?? 0) === 1,
  );
  writeFileSync(join(folder, "identity.paused"), "");
  await ranks[1]?.said("waits");
  // Minimum progress may let it begin, and a slow machine finds that the ranks have ended; nothing else may.
  const { commits, progress, timeouts } = await gangOf(machine, ranks[0]);
  expect(timeouts).toBe(0);
  expect(commits - progress).toBeLessThanOrEqual(1);
  writeFileSync(join(folder, "done"), "");
  const ends = await Promise.all(ranks.map(({ ended }) => ended));
  expect(ends.map(({ status, stdout }) => [status, stdout])).toEqual(
    Array(2).fill([0, '{"checked": 1}\n']),
  );
  await service.ended;
});

test("beside a service with requests, results are right and the service's work is whole", async () => {
  const machine = await startMachine(devices(2));
  const service = machine.load("high", "--rate 200 --seconds 3600 --warmup 0.01".split(" "));
  await service.serving;
  const { ranks } = startRanks(machine, "patterns", "data-parallel");
  expect(await checked(ranks)).toEqual([20, 20]);
  const { result } = await service.finish();
  expect(result.intact).toBe(true);
});

test("a killed rank's peer uses no GPU, and ends when its communicator is aborted", async () => {
  const machine = await startMachine(devices(2));
  const { ranks } = startRanks(machine, "gangs", "killed");
  const [first, second] = await Promise.all(ranks.map(({ ended }) => ended));
  expect(first).toMatchObject({ status: 0, stdout: '{"checked": 1}\n' });
  expect(second?.signal).toBe("SIGKILL");
});

test("another rank decides where the first one has died", async () => {
  const machine = await startMachine(devices(3));
  const { ranks, folder } = startRanks(machine, "gangs", "survivors", 3);
  expect((await ranks[0]?.ended)?.signal).toBe("SIGKILL");
  writeFileSync(join(folder, "identity.gone"), "");
  for (const { ended } of ranks.slice(1))
    expect(await ended).toMatchObject({ status: 0, stdout: '{"checked": 1}\n' });
});

/** Each has joined the gang, and nobody else is there. */
const haveJoined = async (machine: Machine, ranks: readonly Client[]) => {
  const clients = (await machine.status()).gpus.flatMap(({ bestEffort }) => bestEffort);
  const joined = clients.filter(({ gang }) => gang?.ranks === 2).map(({ pid }) => pid);
  return (
    clients.length === ranks.length && ranks.every(({ pid }) => joined.some((one) => one === pid))
  );
};

test.each([
  ["torchrun, which counts restarts,", "1"],
  ["a script, which counts nothing,", "0"],
])(
  "ranks that %s starts again after one has died are the same job, and commit without the dead",
  async (_, restarts) => {
    const machine = await startMachine(devices(2));
    const start = (count: string) => {
      const name = { MASTER_PORT: "1", TORCHELASTIC_RESTART_COUNT: count };
      return startRanks(machine, "gangs", "late", 2, name);
    };
    const jobs = async () =>
      (await machine.status()).gpus.flatMap(({ bestEffort }) => bestEffort.map(({ job }) => job));
    const { ranks: before } = start("0");
    await eventually("the gang is there", () => haveJoined(machine, before));
    const [job] = await jobs();
    for (const rank of before.toReversed()) {
      rank.signal("SIGKILL");
      await rank.ended;
    }
    const { ranks, folder } = start(restarts);
    await eventually("the new gang is there", () => haveJoined(machine, ranks));
    expect(await jobs()).toEqual([job, job]);
    writeFileSync(join(folder, "identity.late"), "");
    expect(await checked(ranks)).toEqual([1, 1]);
  },
);

test("a rank that died before its peer came holds nothing of those that come later", async () => {
  const machine = await startMachine(devices(2));
  const name = { MASTER_PORT: "1" };
  const { ranks: alone } = startRanks(machine, "gangs", "late", 2, name, [1]);
  await eventually("rank 1 has joined", () => haveJoined(machine, alone));
  for (const rank of alone) {
    rank.signal("SIGKILL");
    await rank.ended;
  }
  const { ranks, folder } = startRanks(machine, "gangs", "late", 2, name);
  writeFileSync(join(folder, "identity.late"), "");
  expect(await checked(ranks)).toEqual([1, 1]);
});

test("a rank that is late for longer than the time-out is not waited for, which is counted", async () => {
  const machine = await startMachine(devices(2));
  const { ranks, folder } = startRanks(machine, "gangs", "late", 2, {
    COTENANT_COMMIT_TIMEOUT_MS: "200",
  });
  await eventually("rank 0 has timed out", async () => {
    const { commits, timeouts } = await gangOf(machine, ranks[0]);
    return commits === 1 && timeouts === 1;
  });
  const { stdout } = await machine.cotenant(["status"]);
  expect(stdout).toMatch(/^ {2}gangs +2 ranks on 2 GPUs /m);
  expect(stdout).toMatch(
    new RegExp(
      `^ {2}gangs \\(pids ${ranks[0]?.pid}, ${ranks[1]?.pid}\\) is one job of 2 ranks on 2 GPUs: .*; ` +
        "1 of its collectives were committed, of which 1 timed out waiting for other ranks$",
      "m",
    ),
  );
  writeFileSync(join(folder, "identity.late"), "");
  expect(await checked(ranks)).toEqual([1, 1]);
});

test("what can't be committed is refused in a sentence", async () => {
  const machine = await startMachine(devices(2));
  const { ranks } = startRanks(machine, "patterns", "captured");
  for (const { ended } of ranks) {
    const { status, stderr } = await ended;
    expect(status).toBe(1);
    expect(stderr).toContain(
      "cotenant: ncclAllReduce is refused in this best-effort rank: it is captured into a CUDA graph.",
    );
    expect(stderr).toContain("`cotenant run --ungated`");
  }
});

const finds = (name: string) => [
  ...["python3", "-c", `import ctypes; print(hasattr(ctypes.CDLL(None), "${name}"))`],
];

test("a program that is no rank finds none of NCCL's names", async () => {
  const machine = await startMachine(devices(2));
  expect((await machine.run("best-effort", finds("ncclAllReduce")).ended).stdout).toBe("False\n");
  expect((await machine.run("high", finds("ncclAllReduce")).ended).stdout).toBe("False\n");
  expect((await machine.run("best-effort", finds("cuInit")).ended).stdout).toBe("True\n");
});

test.each([
  ["", "False\n"],
  ["RANK=0 WORLD_SIZE=2", "True\n"],
])(
  "a best-effort launcher starts a program with '%s', which finds NCCL's names: %s",
  async (variables, found) => {
    const machine = await startMachine(devices(2));
    const words = finds("ncclAllReduce").map((word) => `'${word}'`);
    const shell = ["sh", "-c", `${variables} ${words.join(" ")}`];
    expect(await machine.run("best-effort", shell).ended).toMatchObject({
      stdout: found,
      stderr: "",
    });
  },
);
