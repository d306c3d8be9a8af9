import { expect, test } from "vitest";
import type { MeasuredPair } from "../../labels/pair.ts";
import type { Claim, Pairing, Pod } from "../state/objects.ts";
import { policyOf } from "../state/policy.ts";
import type { GpuSeat } from "../state/seats.ts";
import type { ClusterSnapshot } from "../state/snapshot.ts";
import { harmIn } from "./harm.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const MINUTE = 60_000;

const metadata = (name: string, annotations: Record<string, string> = {}) => ({
  ...{ name, namespace: "default", uid: `uid-of-${name}`, resourceVersion: "1", annotations },
  creationTimestamp: "2025-12-31T00:00:00Z",
});
const training = (name: string): Pod => ({
  metadata: metadata(name, { "cotenant.io/class": "best-effort" }),
  spec: {
    nodeName: "a",
    resourceClaims: [{ name: "cotenant", resourceClaimName: `claim-of-${name}` }],
  },
  status: { phase: "Running" },
});
const claim = (name: string, matchedAt: number): Claim => ({
  metadata: metadata(`claim-of-${name}`, {
    "cotenant.io/gpu": "GPU-a",
    "cotenant.io/matched-at": new Date(matchedAt).toISOString(),
  }),
  spec: {},
});
const pairing = (name: string, slowdown: number, at: number, pair?: MeasuredPair): Pairing => ({
  metadata: metadata(`claim-of-${name}`),
  spec: {
    ...{ pod: name, service: "default/service", node: "a", gpu: "GPU-a", share: 1 },
    predicted: { retained: 0.8, from: "turns" },
  },
  status: { measured: { slowdown, at: new Date(at).toISOString(), ...(pair && { pair }) } },
});
const seat = {
  ...{ uuid: "GPU-a", beside: "service", statesObjective: false },
  node: { metadata: metadata("a") },
} as GpuSeat;

const [first, last] = [training("first"), training("last")];
const claims = [claim("first", NOW - 9000), claim("last", NOW - 8000)];

/** The evictions, and the state that is carried on, when both pods are measured at `slowdown` at some time. */
function harm(
  slowdown: number,
  at: number,
  more: Partial<ClusterSnapshot> = {},
  pods: readonly Pod[] = [first, last],
  of: GpuSeat = seat,
) {
  const pairings = [pairing("first", slowdown, at), pairing("last", slowdown, at)];
  const seen = {
    ...{ now: NOW, wallNow: NOW, policy: policyOf([]), claims, pairings, sharers: new Map() },
    ...more,
  } as ClusterSnapshot;
  const { evictions, sharers } = harmIn(seen, pods, new Map([["GPU-a", of]]));
  return { sharers, gone: evictions.map(({ pod, service }) => [pod.metadata.name, service]) };
}

test("the last pod goes where the service is slower than the policy allows", () => {
  expect(harm(1.5, NOW).gone).toEqual([]);
  expect(harm(1.6, NOW).gone).toEqual([["last", "service"]]);
  const policy = { ...policyOf([]), mostSlowdown: 2 };
  expect(harm(1.6, NOW, { policy }).gone).toEqual([]);
});

test("an eviction that was not allowed yet is tried again", () => {
  const { sharers } = harm(1.6, NOW);
  expect(harm(1.6, NOW, { sharers, wallNow: NOW + MINUTE }).gone).toEqual([["last", "service"]]);
});

test("a measurement of a time with other pods says nothing of those that are there now", () => {
  const { sharers } = harm(1.6, NOW);
  const alone = (at: number, more: Partial<ClusterSnapshot>) =>
    harm(1.6, at, { claims: claims.slice(0, 1), ...more }, [first]);
  const after = alone(NOW, { sharers, wallNow: NOW + MINUTE });
  expect(after.gone).toEqual([]);
  const later = { sharers: after.sharers, wallNow: NOW + 3 * MINUTE };
  expect(alone(NOW, later).gone).toEqual([]);
  expect(alone(NOW + 2 * MINUTE, later).gone).toEqual([["first", "service"]]);
});

test("nothing more goes while a pod is leaving or coming", () => {
  expect(harm(1.6, NOW, {}, [first]).gone).toEqual([]);
});

test("a service that states an objective is left to the agent of its node", () => {
  expect(harm(1.6, NOW, {}, [first, last], { ...seat, statesObjective: true }).gone).toEqual([]);
});

test("requests that wait for each other are slowed by more than bursts are", () => {
  const measured = (factor: number, load: number, unit: "burst" | "step" = "burst") => ({
    ...({ retained: 0.7, by: "work", seconds: 60, load, others: 0 } as const),
    ...{ policy: "cotenant", mode: "isolated", model: "H200" },
    service: {
      unit,
      perS: 60,
      p50Us: 1000 * factor,
      soloP50Us: 1000,
      p99Us: 2000,
      soloP99Us: 2000,
    },
  });
  const gone = (pair: MeasuredPair) => {
    const pairings = [pairing("first", 1.2, NOW, pair)];
    return harm(1, NOW, { pairings, claims: claims.slice(0, 1) }, [first]).gone.length;
  };
  // Solo the service is busy for 0.15 or 0.45 of the time.
  expect(gone(measured(1.3, 1.3 * 0.15))).toBe(0);
  expect(gone(measured(1.3, 1.3 * 0.45))).toBe(1);
  expect(gone(measured(1.3, 1.3 * 0.45, "step"))).toBe(0);
});
