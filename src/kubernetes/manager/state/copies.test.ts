import { expect, test } from "vitest";
import { keptPod } from "./copies.ts";
import type { Pod } from "./objects.ts";
import { workloadOf } from "./pods.ts";
import { requestsOf } from "./requests.ts";

const long = "x".repeat(700_000);
const pod = (annotations: Record<string, string>, spec: Pod["spec"]): Pod => ({
  metadata: {
    ...{ name: "train", namespace: "team", uid: "uid", resourceVersion: "1" },
    ...{ creationTimestamp: "2026-01-01T00:00:00Z", annotations, labels: { long } },
  },
  spec,
  status: { phase: "Pending" },
});
const limits = { cpu: "500m", memory: "1Gi" };
const bestEffort = { "cotenant.io/class": "best-effort", "cotenant.io/memory": "1Gi" };

test("a copy of a pod is small however long its arguments, labels and annotations are", () => {
  const containers = [{ image: "train", args: [long], resources: { limits } }];
  const large = pod({ ...bestEffort, long, "cotenant.io/profile": long }, { containers });
  const kept = keptPod(large);
  expect(JSON.stringify(kept).length).toBeLessThan(1000);
  expect(kept.metadata.annotations).toEqual(bestEffort);
  expect(requestsOf(kept)).toEqual(
    new Map([
      ["cpu", 0.5],
      ["memory", 2 ** 30],
      ["pods", 1],
    ]),
  );
});

test("a copy says which program a pod runs: the same for the same arguments alone", () => {
  const copyOf = (args: string) =>
    workloadOf(keptPod(pod(bestEffort, { containers: [{ image: "train", args: [args] }] })));
  expect(copyOf(`${long}a`)).toBe(copyOf(`${long}a`));
  expect(copyOf(`${long}a`)).not.toBe(copyOf(`${long}b`));
});

test("constraints that are too large are named and not kept", () => {
  const { spec } = keptPod(pod(bestEffort, { nodeSelector: { zone: long } }));
  expect([spec.isTooLarge, spec.nodeSelector]).toEqual([true, undefined]);
});
