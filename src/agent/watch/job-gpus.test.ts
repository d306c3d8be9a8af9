import { expect, onTestFinished, test } from "vitest";
import { nanos } from "#core";
import { caveats } from "#protocol";
import { identified } from "../../../test/agent/fakes.ts";
import { type Client, defaultApplicant, ServedGpu } from "../gpus/gpu.ts";
import type { Meters } from "../meters/meters.ts";
import { caveatsOf, heldForJobs, JobGpus } from "./job-gpus.ts";

const UUID_BYTES = 16;

function gpuOf(number: number): ServedGpu {
  const uuid = new Uint8Array(UUID_BYTES).fill(number);
  const gpu = new ServedGpu({ uuid, name: "GPU", smCount: 4 }, process.pid);
  onTestFinished(() => gpu.close());
  return gpu;
}

interface Rank {
  readonly client: Client;
  readonly slot: NonNullable<ServedGpu["region"]["memory"]["high"][number]>;
}

function rankOn(gpu: ServedGpu, pid: number, more: Partial<Client> = {}): Rank {
  const client = gpu.take(
    {
      ...{ ...defaultApplicant, class: "high", pid, startTime: 1, name: "llm" },
      ...{ identity: identified(pid), job: { text: "a", rank: undefined }, ...more },
    },
    nanos(0),
  );
  const slot = client && gpu.region.memory.high[client.slot];
  if (!slot) throw new Error("no slot");
  slot.ranks = 1;
  return { client, slot };
}

/** The program observes the steps of these ranks. */
function lookWith(observers: readonly Rank[], gpus: readonly ServedGpu[]) {
  const followed = new Map<Client, Client>();
  const meters = {
    ownSteps: (_: ServedGpu, client: Client) =>
      observers.some((one) => one.client === client) ? { has: true } : undefined,
    setObserver: (client: Client, observer: { readonly client: Client } | undefined) => {
      if (observer) followed.set(client, observer.client);
      else followed.delete(client);
    },
  };
  for (const { slot } of observers) slot.bursts = 100;
  const jobs = new JobGpus(meters as unknown as Meters);
  return { followed, look: () => jobs.look(gpus) };
}

const namedIn = ({ slot }: Rank) =>
  Array.from({ length: slot.jobCount }, (_, i) => ({
    uuid: slot.jobGpus.slice(UUID_BYTES * i, UUID_BYTES * (i + 1))[0],
    follower: slot.jobSlots.get(i),
  }));

test("each rank is told the GPUs of the others, and the observer whose steps it observes", () => {
  const gpus = [gpuOf(1), gpuOf(2), gpuOf(3)] as const;
  rankOn(gpus[1], 6, { job: { text: "another", rank: undefined } });
  const ranks = gpus.map((gpu, i) => rankOn(gpu, 7 + i)) as [Rank, Rank, Rank];
  const { followed, look } = lookWith([ranks[0]], gpus);
  look();
  expect(namedIn(ranks[0])).toEqual([
    { uuid: 2, follower: 2 }, // its slot is 1
    { uuid: 3, follower: 1 },
  ]);
  expect(namedIn(ranks[1])).toEqual([
    { uuid: 1, follower: 0 },
    { uuid: 3, follower: 0 },
  ]);
  expect(ranks.map(({ slot }) => slot.follows)).toEqual([0, 1, 1]);
  expect([...followed.values()]).toEqual([ranks[0].client, ranks[0].client]);
  expect(ranks.map(({ slot }) => slot.jobVersion)).toEqual([2, 2, 2]);
  look();
  expect(ranks.map(({ slot }) => slot.jobVersion)).toEqual([2, 2, 2]);

  gpus[0].release(ranks[0].client, nanos(0));
  look();
  expect(namedIn(ranks[1])).toEqual([{ uuid: 3, follower: 0 }]);
  expect(ranks[2].slot).toMatchObject({ follows: 0, jobVersion: 4 });
  expect(followed.size).toBe(0);
  gpus[1].release(ranks[1].client, nanos(0));
  look();
  expect(ranks[2].slot).toMatchObject({ jobCount: 0, jobVersion: 6 });
});

test("where several ranks observe steps, or words end the bursts of the one that does, none follows", () => {
  const gpus = [gpuOf(1), gpuOf(2)] as const;
  const ranks = [rankOn(gpus[0], 7), rankOn(gpus[1], 8)] as const;
  const { followed, look } = lookWith(ranks, gpus);
  look();
  expect(ranks.map(({ slot }) => slot.follows)).toEqual([0, 0]);
  for (const { slot } of ranks) slot.tailWrites = 90;
  look();
  expect(ranks.map(({ slot }) => slot.follows)).toEqual([0, 0]);
  expect(followed.size).toBe(0);
  ranks[0].slot.tailWrites = 0;
  look();
  expect(ranks.map(({ slot }) => slot.follows)).toEqual([0, 1]);
});

test("processes that need no other rank stay apart, and one process has its GPUs already", () => {
  const gpus = [gpuOf(1), gpuOf(2)] as const;
  const apart = [rankOn(gpus[0], 7), rankOn(gpus[1], 8)] as const;
  for (const { slot } of apart) slot.ranks = 0;
  const one = gpus.map((gpu) => rankOn(gpu, 9, { job: { text: "b", rank: undefined } }));
  lookWith([], gpus).look();
  expect(apart.map(({ slot }) => slot.jobVersion)).toEqual([0, 0]);
  expect(one.map(({ slot }) => slot.jobCount)).toEqual([0, 0]);
});

test("what the last agent said stays until its clients have come back", () => {
  const gpus = [gpuOf(1), gpuOf(2)] as const;
  const rank = rankOn(gpus[0], 7);
  rank.slot.jobCount = 1;
  rank.slot.jobVersion = 4;
  const { startTime, name, pid } = rank.client;
  gpus[1].recall([{ class: "high", slot: 0, pid: pid + 1, startTime, name }], nanos(0));
  const { look } = lookWith([], gpus);
  look();
  expect(rank.slot.jobCount).toBe(1);
  for (const absent of gpus[1].clients) gpus[1].release(absent, nanos(0));
  look();
  expect(rank.slot.jobCount).toBe(0);
});

test("a slot that only holds is no client of the GPU, but protected and counted as there", () => {
  const gpus = [gpuOf(1), gpuOf(2)] as const;
  const [first] = [rankOn(gpus[0], 7), rankOn(gpus[1], 8)];
  rankOn(gpus[1], 7, { holdsOnly: true });
  expect(gpus[1].clients.map(({ pid }) => pid)).toEqual([8]);
  expect(gpus[1].region.memory.roster.registered).toBe(2);
  const heldBy = heldForJobs(gpus);
  expect(heldBy(first.client)).toEqual([gpus[1].uuid]);
  expect(caveatsOf(caveats.ranks | caveats.gpus, heldBy(first.client))).toBe(caveats.gpus);
  expect(caveatsOf(caveats.ranks, [])).toBe(caveats.ranks);
});
