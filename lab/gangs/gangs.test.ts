// Every state of the protocol is visited, for the patterns in which trainings use collectives. Each variation of the
// protocol that lacks a part of it violates a property in one of them.
import { describe, expect, test } from "vitest";
import {
  dataParallel,
  differentOrder,
  differentOrderBehindWork,
  explore,
  type Gang,
  type Property,
  pipeline,
  shardedData,
  tensorAndData,
  type Variant,
} from "./index.ts";

interface Lack {
  readonly lacks: string;
  readonly variant: Variant;
  readonly gang: Gang;
  readonly property: Property;
}

describe("committed collectives", () => {
  // The bound: kernels that begin on a GPU after it is held. They are those of collectives that were committed before.
  test.each([
    { of: "data parallel, two ranks", gang: dataParallel(2, 2), holds: 2, bound: 1 },
    { of: "data parallel, one channel", gang: dataParallel(2, 2, 1), holds: 2, bound: 1 },
    { of: "data parallel, four ranks", gang: dataParallel(4, 1), holds: 2, bound: 2 },
    { of: "sharded data", gang: shardedData(2), holds: 2, bound: 2 },
    { of: "sharded data, two channels", gang: shardedData(2, 2), holds: 1, bound: 2 },
    { of: "a pipeline", gang: pipeline(3), holds: 2, bound: 1 },
    { of: "a pipeline, one channel", gang: pipeline(3, 1), holds: 2, bound: 1 },
    { of: "tensor and data parallel, four ranks", gang: tensorAndData(), holds: 1, bound: 2 },
    { of: "different orders", gang: differentOrder(8), holds: 2, bound: 2 },
    // A time-out lets go what stands before its collective, too.
    { of: "different orders, one channel", gang: differentOrder(1), holds: 2, bound: 2 },
    { of: "the same behind other work", gang: differentOrderBehindWork(), holds: 2, bound: 3 },
  ])("$of: no deadlock, what has begun ends, holds are bounded", ({ gang, holds, bound }) => {
    const { violation, mostBegun, states } = explore({ gang, holds }, bound);
    expect(violation).toBeUndefined();
    expect(mostBegun).toBe(bound);
    expect(states).toBeGreaterThan(500);
  });

  test("where a rank dies at any instant, holds stay bounded", () => {
    const { violation } = explore({ gang: dataParallel(2, 1), holds: 1, deaths: true }, 1);
    expect(violation).toBeUndefined();
  });

  test.each<Lack>([
    {
      lacks: "an order for each communicator, not one for the gang",
      ...{ variant: "one-order", gang: tensorAndData(), property: "no deadlock" },
    },
    {
      lacks: "a time-out",
      ...{ variant: "no-timeout", gang: differentOrder(1), property: "no deadlock" },
    },
    {
      lacks: "the release of what stands before a collective that is let go",
      ...{ variant: "bare-timeout", gang: differentOrder(1), property: "what has begun ends" },
    },
    {
      lacks: "commits",
      ...{ variant: "uncommitted", gang: dataParallel(2, 1), property: "what has begun ends" },
    },
    {
      lacks: "a time-out that does not count while a GPU is held",
      ...{ variant: "impatient", gang: dataParallel(2, 2), property: "a hold is bounded" },
    },
  ])("a protocol that lacks $lacks is refuted", ({ variant, gang, property }) => {
    const { violation } = explore({ gang, variant, holds: 1 }, 2);
    expect(violation?.property).toBe(property);
    expect(violation?.steps.length).toBeGreaterThan(0);
  });
});
