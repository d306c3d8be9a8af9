// Clients that one job has are shown, parked and ended as one, and have one share of the GPU among best-effort jobs.
import { expect, test } from "vitest";
import type { BestEffortStatus } from "#agent";
import { cotenantItself, eventually, type Machine, startMachine } from "../machine.ts";

const closed = ["--arrivals", "closed", "--seconds", "3600"];
const training = [...cotenantItself, "load", ...closed];
const quoted = training.map((word) => `'${word}'`).join(" ");

const trainingsOn = async (machine: Machine): Promise<readonly BestEffortStatus[]> =>
  (await machine.status()).gpus.flatMap(({ bestEffort }) => bestEffort);

const linesWith = (text: string, word: string) =>
  text.split("\n").filter((line) => line.includes(word));

test("ranks that a launcher starts one by one are one job beside a service", async () => {
  const machine = await startMachine({ COTENANT_SOFTGPU: "devices=2" });
  const service = machine.load("high", ["--rate", "20", "--seconds", "3600"]);
  const ranks = [0, 1].map((rank) =>
    machine.load("best-effort", closed, {
      ...{ CUDA_VISIBLE_DEVICES: `${rank}`, RANK: `${rank}`, WORLD_SIZE: "2" },
      ...{ LOCAL_WORLD_SIZE: "2", MASTER_ADDR: machine.directory, MASTER_PORT: "1" },
    }),
  );
  await Promise.all([service, ...ranks].map(({ serving }) => serving));
  const clients = await trainingsOn(machine);
  expect(clients.map(({ pid, rank }) => ({ pid, rank }))).toEqual(
    ranks.map(({ pid }, rank) => ({ pid, rank })),
  );
  expect(new Set(clients.map(({ job }) => job)).size).toBe(1);
  const name = clients[0]?.name ?? "";
  const { stdout: status } = await machine.cotenant(["status"]);
  expect(linesWith(status, "2 ranks on 2 GPUs")).toHaveLength(2); // its row and its sentence
  for (const [rank, { pid }] of ranks.entries())
    expect(linesWith(status, `${name} (rank ${rank})`)).toEqual([
      expect.stringMatching(new RegExp(`^ {2}\\S+ \\(rank ${rank}\\) +${pid} `)),
    ]);
  const { stdout: top } = await machine.cotenant(["top", "--once"], { COLUMNS: "200" });
  expect(linesWith(top, `${ranks[0]?.pid} +1 `)).toEqual([expect.stringMatching(/^0,1 /)]);
});

test("processes of one start are one job: it has one turn of several, and is parked and ended as a whole", async () => {
  const machine = await startMachine();
  const name = ["--name", "pair", "--movable"];
  const pair = machine.cotenant([
    ...["run", "--class", "best-effort", ...name, "--"],
    ...["sh", "-c", `${quoted} & ${quoted} & wait`],
  ]);
  const other = machine.load("best-effort", closed);
  await other.serving;
  const processes = async () =>
    (await trainingsOn(machine)).filter((client) => client.name === "pair");
  await eventually("both processes have come", async () => (await processes()).length === 2);
  const [first, second] = await processes();
  const alone = await machine.bestEffortOf(other);
  if (!first || !second) throw new Error("no pair");
  expect(first.job).toBe(second.job);
  expect(first.job).not.toBe(alone.job);
  const { shares } = machine.memory().roster;
  expect([first, second, alone].map(({ slot }) => shares.get(slot))).toEqual([1, 1, 2]);
  const { stdout } = await machine.cotenant(["status"]);
  expect(stdout).toMatch(new RegExp(`^ {2}pair +${first.pid} \\+1 `, "m"));

  const states = async () => (await processes()).map(({ memory }) => memory?.state);
  await machine.cotenant(["park", `${second.pid}`]);
  expect(await states()).toEqual(["parked", "parked"]);
  await machine.cotenant(["resume", `${first.pid}`]);
  expect(await states()).toEqual(["open", "open"]);

  const evicted = await machine.cotenant(["evict", "pair", "--checkpoint", "true"]);
  expect(evicted).toMatchObject({
    status: 0,
    stdout: `pair (pids ${first.pid}, ${second.pid}): ended.\n`,
  });
  await pair;
  expect(shares.get(alone.slot)).toBe(1);
});
