import { expect, test } from "vitest";
import type { GpuStatus } from "#agent";
import type { Api } from "../api/client.ts";
import type { PreparedClaim } from "./claims.ts";
import { isNew, ManagerSeen, sharesToTell } from "./shares.ts";
import type { NodePairing } from "./state/objects.ts";

const claim = (pod: string, gpu = "GPU-1"): PreparedClaim => ({
  ...{ namespace: "default", name: `cotenant-${pod}`, uid: `claim-${pod}` },
  ...{ podUid: pod, podName: "train", gpu, memoryBytes: 0, devices: [] },
});

const pairingsOf = (...all: readonly (readonly [string, string, number])[]) => ({
  get: (name: string, namespace?: string): NodePairing | undefined => {
    const found = all.find(([pod]) => `cotenant-${pod}` === name && namespace === "default");
    return (
      found && {
        metadata: { name, namespace: "default", resourceVersion: "1" },
        spec: { gpu: found[1], share: found[2] },
      }
    );
  },
});

/** An agent that has been given shares for these pods. */
const told = (...pods: readonly string[]) => [
  {
    uuid: "GPU-1",
    bestEffort: [
      { identity: undefined, givenShare: undefined },
      ...pods.map((pod) => ({ identity: { pod }, givenShare: { share: 0.3, from: "it" } })),
    ],
  } as unknown as GpuStatus,
];
const from = (pod: string) => `the Pairing default/cotenant-${pod}`;

test("each pod that is here gets the share of its Pairing, whether or not the agent has it", () => {
  const pairings = pairingsOf(["a", "GPU-1", 0.4], ["b", "GPU-1", 0.2], ["gone", "GPU-1", 0.9]);
  const shares = [
    { uuid: "GPU-1", pod: "a", given: { share: 0.4, from: from("a") } },
    { uuid: "GPU-1", pod: "b", given: { share: 0.2, from: from("b") } },
  ];
  const claims = [claim("a"), claim("b"), claim("unpaired")];
  expect(sharesToTell(claims, pairings, true, told())).toEqual(shares);
  expect(sharesToTell(claims, pairings, true, told("a", "b"))).toEqual(shares);
});

test("what the agent has said that it has is not new, and what is taken back is", () => {
  const share = (pod: string, share: number) => ({
    ...{ uuid: "GPU-1", pod, given: { share, from: from(pod) } },
  });
  expect(["a", "b"].map((pod) => isNew(share(pod, 0.3), told("a")))).toEqual([false, true]);
  expect(isNew(share("a", 0.4), told("a"))).toBe(true);
  expect(isNew({ ...share("a", 0.3), uuid: "GPU-2" }, told("a"))).toBe(true);
  expect(isNew({ uuid: "GPU-1", pod: "a", given: undefined }, told("a"))).toBe(true);
});

test("a share is taken back when its pod, its Pairing or the manager is gone", () => {
  const pairings = pairingsOf(["a", "GPU-1", 0.4]);
  const none = [{ uuid: "GPU-1", pod: "a", given: undefined }];
  expect(sharesToTell([], pairings, true, told("a"))).toEqual(none);
  expect(sharesToTell([claim("a")], pairingsOf(), true, told("a", "a"))).toEqual(none);
  expect(sharesToTell([claim("a")], pairings, false, told("a"))).toEqual(none);
  expect(sharesToTell([claim("a")], pairings, false, told())).toEqual([]);
});

test("a Pairing about another GPU, or with a share that is none, gives nothing", () => {
  for (const [gpu, share] of [
    ["GPU-2", 0.4] as const,
    ["GPU-1", 0] as const,
    ["GPU-1", 3] as const,
  ])
    expect(sharesToTell([claim("a")], pairingsOf(["a", gpu, share]), true, told())).toEqual([]);
});

test("a manager lives while its Lease changes, and one that was only found does not", async () => {
  let version: string | undefined = "1";
  let asked = 0;
  const find = async () => {
    asked++;
    return version && { metadata: { name: "cotenant-manager", resourceVersion: version } };
  };
  const seen = new ManagerSeen({ find } as unknown as Api);
  await seen.look(0);
  expect(seen.lives(0)).toBe(false);
  await seen.look(9_000);
  expect(asked).toBe(1);
  await seen.look(10_000);
  expect(seen.lives(10_000)).toBe(false);
  version = "2";
  await seen.look(20_000);
  expect([seen.lives(20_000), seen.lives(79_999), seen.lives(80_000)]).toEqual([true, true, false]);
  version = undefined;
  await seen.look(40_000);
  expect(seen.lives(40_000)).toBe(false);
});
