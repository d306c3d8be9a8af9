import fc from "fast-check";
import { expect, test } from "vitest";
import { obstacleOn } from "../state/fit.ts";
import type { Node, Pod } from "../state/objects.ts";
import { affinityOn, unpinned } from "./pinned.ts";

const metadata = (name: string, labels: Record<string, string> = {}) => ({
  ...{ name, uid: name, resourceVersion: "1", creationTimestamp: "", labels },
});

const node = (name: string, zone: string): Node => ({
  metadata: metadata(name, { zone }),
  ...{ spec: {}, status: {} },
});

const podWith = (affinity: Pod["spec"]["affinity"]): Pod => ({
  metadata: metadata("pod"),
  spec: { ...(affinity && { affinity }) },
  status: {},
});

const requirement = fc.record({
  key: fc.constantFrom("zone", "other"),
  operator: fc.constantFrom("In", "NotIn", "Exists"),
  values: fc.subarray(["north", "south"]),
});
const name = fc.record({
  key: fc.constant("metadata.name"),
  operator: fc.constantFrom("In", "NotIn"),
  values: fc.subarray(["a", "b"], { minLength: 1, maxLength: 1 }),
});
const term = fc
  .record(
    {
      matchExpressions: fc.array(requirement, { minLength: 1, maxLength: 2 }),
      matchFields: fc.array(name, { minLength: 1, maxLength: 2 }),
    },
    { requiredKeys: [] },
  )
  .filter((one) => Object.keys(one).length > 0);
const affinity = fc.option(
  fc.record({
    nodeAffinity: fc.record({
      requiredDuringSchedulingIgnoredDuringExecution: fc.record({
        nodeSelectorTerms: fc.array(term, { minLength: 1, maxLength: 3 }),
      }),
    }),
  }),
  { nil: undefined },
);
const nodes = [node("a", "north"), node("b", "south")];

test("a pod may run where it might before it was released to a node, and while it is, only there", () => {
  fc.assert(
    fc.property(affinity, fc.constantFrom(...nodes), (given, one) => {
      const before = podWith(given);
      const released = podWith(affinityOn(before, one.metadata.name));
      const again = unpinned(released, one.metadata.name);
      for (const each of nodes) {
        const mightBefore = obstacleOn(before, each) === undefined;
        expect(obstacleOn(again, each) === undefined).toBe(mightBefore);
        expect(obstacleOn(released, each) === undefined).toBe(mightBefore && each === one);
      }
    }),
  );
});
