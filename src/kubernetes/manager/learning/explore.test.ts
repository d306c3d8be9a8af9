import { expect, test } from "vitest";
import type { Choice } from "../../labels/pair.ts";
import type { WaitingPod } from "../matching/waiting.ts";
import type { Claim, Pairing } from "../state/objects.ts";
import { policyOf } from "../state/policy.ts";
import type { GpuSeat } from "../state/seats.ts";
import type { ClusterSnapshot } from "../state/snapshot.ts";
import { choiceOf, choices, explore, exploringOn, mayExplore } from "./explore.ts";

const metadata = (name: string, annotations: Record<string, string> = {}) => ({
  ...{ name, namespace: "default", uid: name, resourceVersion: "1", annotations },
  creationTimestamp: "2026-01-01T00:00:00Z",
});
const seat = (name: string, more: Partial<GpuSeat> = {}): GpuSeat =>
  ({
    ...{ uuid: `GPU-${name}`, beside: `service-${name}`, workload: name, model: "H200" },
    ...{ pods: 0, slots: 2, freeBytes: 10, activeShare: 0.2, statesObjective: false },
    ...{ service: undefined, node: { metadata: metadata("a") }, site: "a", ...more },
  }) as GpuSeat;
const job = { workload: "train", memoryBytes: 5, constraints: "", forecastKind: "" } as WaitingPod;
const NOW = Date.parse("2026-01-01T01:00:00Z");
const claim = (gpu: string, choice?: Choice, agoMs = 30_000): Claim => ({
  metadata: metadata(`claim-${gpu}`, {
    "cotenant.io/gpu": `GPU-${gpu}`,
    "cotenant.io/matched-at": new Date(NOW - agoMs).toISOString(),
    ...(choice && { "cotenant.io/choice": JSON.stringify(choice) }),
  }),
  spec: {},
});
const pairing = (gpu: string, slowdown: number): Pairing => ({
  metadata: metadata(`claim-${gpu}`),
  spec: {
    ...{ pod: "p", service: "default/s", node: "a", gpu: `GPU-${gpu}`, share: 1 },
    predicted: { retained: 0.8, from: "rule" },
  },
  status: { measured: { slowdown, retained: 0.7 } },
});
const explored: Choice = { probability: 0.01, alternatives: 2, explored: true };

/** Every GPU is unknown to the job, and its forecast exceeds the limit by the upper bound alone. */
const cluster = (more: Partial<ClusterSnapshot> = {}, from = "rule") =>
  ({
    ...{ policy: policyOf([]), claims: [], pairings: [], kept: [], wallNow: NOW },
    forecasts: {
      isMeasured: ({ service }: { service: string }) => service === "measured",
      of: (_: unknown, __: unknown, { workload }: GpuSeat) => ({
        ...{ from, retained: 0.7, slowdown: workload === "slow" ? 2 : 1.2, slowdownHigh: 3 },
        ...{ share: 0.8, worth: 0.5 },
      }),
    },
    ...more,
  }) as unknown as ClusterSnapshot;

const rules = {
  fits: () => true,
  forecast: (gpu: GpuSeat) =>
    gpu.workload === "good" ? { retained: 0.7, worth: 0.5, isCorrected: true } : undefined,
  take: () => true,
};

/** GPUs that are explored when each draw is `random`. */
function exploration(
  open: readonly GpuSeat[],
  {
    seen = cluster(),
    random = (): number => 0,
    matches = 1000,
    others = [] as readonly GpuSeat[],
  } = {},
) {
  const served = new Map([...open, ...others].map((one) => [one.uuid, one]));
  return explore(
    { counts: { matches, explored: 0 }, random },
    seen,
    [job],
    { open, served },
    rules,
  );
}

test("an exploration takes a slot beside a service that is unknown to the workload, and states its probability", () => {
  const [known, unknown, other] = [seat("measured"), seat("b"), seat("c")];
  const found = exploration([known, unknown, other]);
  expect(found).toMatchObject({
    gpu: { uuid: "GPU-b" },
    choice: { probability: 0.01, alternatives: 2, explored: true },
  });
  expect(unknown.pods).toBe(1);
});

test.each<[string, Partial<GpuSeat>]>([
  ["that states an objective", { statesObjective: true }],
  ["beside which a pod runs", { pods: 1 }],
  ["whose GPU has too little memory", { freeBytes: 1 }],
  ["that is expected to be slowed too much", { workload: "slow" }],
])("nothing is explored beside a service %s", (_, more) => {
  expect(exploration([seat("b", more)])).toBeUndefined();
});

test("nothing is explored where the draw says no, or before anything was learned", () => {
  expect(exploration([seat("b")], { random: () => 0.5 })).toBeUndefined();
  expect(exploration([seat("b")], { seen: cluster({}, "turns") })).toBeUndefined();
});

test("one exploration at a time runs beside a service, on whichever of its GPUs", () => {
  const [there, replica] = [seat("b", { pods: 1 }), seat("c", { beside: "service-b" })];
  const claims = [claim("b", explored)];
  const running = { seen: cluster({ claims }), others: [there] };
  expect(exploration([replica], running)).toBeUndefined();
  const measured = { seen: cluster({ claims, pairings: [pairing("b", 1.1)] }), others: [there] };
  expect(exploration([replica], measured)?.gpu).toBe(replica);
});

test("nothing is explored beside a service that is slower than the policy allows on another GPU", () => {
  const [there, replica] = [seat("b", { pods: 1 }), seat("c", { beside: "service-b" })];
  const seen = cluster({ claims: [claim("b")], pairings: [pairing("b", 1.6)] });
  expect(exploration([replica], { seen, others: [there] })).toBeUndefined();
});

test("a GPU with an exploration takes nothing more until that was measured", () => {
  const claims = [claim("a"), claim("b", explored), claim("c", explored)];
  const seen = cluster({ claims, pairings: [pairing("c", 1)] });
  expect([...exploringOn(seen)]).toEqual(["GPU-b"]);
  // Its node measures nothing.
  const old = cluster({ claims: [claim("b", explored, 700_000)] });
  expect([...exploringOn(old)]).toEqual([]);
});

test("a place that is kept for a pod that was moved is not explored", () => {
  const kept = [{ owner: "o", gpu: "GPU-b", memoryBytes: 1 }];
  expect(exploration([seat("b")], { seen: cluster({ kept }) })).toBeUndefined();
});

test("at most 2 % of the matches are explorations, whatever the draws are", () => {
  let [matches, done] = [0, 0];
  for (let n = 0; n < 5000; n++) {
    if (mayExplore({ matches, explored: done })) done++;
    matches++;
    expect(done).toBeLessThanOrEqual(0.02 * matches);
  }
  expect(done).toBe(100);
});

test("a match states its alternatives, and a claim keeps them", () => {
  const choice = choices([seat("good"), seat("good"), seat("bad")], rules, true)(job);
  expect(choice).toEqual({ probability: 0.98, alternatives: 2, explored: false });
  expect(choiceOf(claim("a", choice))).toEqual(choice);
  expect(choiceOf(claim("a"))).toBeUndefined();
});
