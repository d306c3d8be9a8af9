// Training patterns as programs of a gang: what the ranks of PyTorch's DDP, FSDP and of pipelines launch, in small.
import { collective, compute, type Gang, type Op, type Rank, sync } from "./program.ts";

const rank = (gpu: number, ops: Rank["ops"], channels = 8): Rank => ({ gpu, ops, channels });

/** Gradients are reduced on a stream of their own, bucket by bucket, while the backward pass goes on. */
export function dataParallel(ranks: number, buckets: number, channels = 8): Gang {
  const ops: Rank["ops"][number][] = [];
  for (let bucket = 0; bucket < buckets; bucket++)
    ops.push(compute(0), collective(`bucket ${bucket}`, 1, [ops.length]));
  ops.push(compute(0, [ops.length - 1]), sync);
  return { ranks: Array.from({ length: ranks }, (_, n) => rank(n % 2, ops, channels)) };
}

/** Parameters are gathered ahead of the computation that needs them, and gradients scattered after it. */
export function shardedData(ranks: number, channels = 8): Gang {
  const ops: Op[] = [
    collective("gather 0", 1),
    compute(0, [0]),
    collective("gather 1", 1),
    compute(0, [2]),
    collective("scatter 0", 2, [3]),
    collective("gather 2", 1),
    compute(0, [5]),
    collective("scatter 1", 2, [6]),
  ];
  return { ranks: Array.from({ length: ranks }, (_, n) => rank(n % 2, ops, channels)) };
}

/** Two stages: each sends activations forward and gradients back, for some micro-batches. */
export function pipeline(batches: number, channels = 8): Gang {
  const first: Op[] = [];
  const second: Op[] = [];
  for (let batch = 0; batch < batches; batch++) {
    first.push(compute(0), collective(`forward ${batch}`, 1, [first.length]));
    second.push(collective(`forward ${batch}`, 1), compute(0, [second.length]));
  }
  for (let batch = 0; batch < batches; batch++) {
    second.push(compute(0), collective(`back ${batch}`, 2, [second.length]));
    first.push(collective(`back ${batch}`, 2), compute(0, [first.length]));
  }
  return { ranks: [rank(0, first, channels), rank(1, second, channels)] };
}

/** Two pairs of tensor-parallel ranks; each rank reduces within its pair, then with its twin in the other pair. */
export function tensorAndData(): Gang {
  const of = (pair: number, gpu: number): Rank =>
    rank(gpu, [collective(`pair ${pair}`, 0), compute(0), collective(`twins ${gpu}`, 1, [1])]);
  return { ranks: [of(0, 0), of(0, 1), of(1, 0), of(1, 1)] };
}

/** Two independent communicators on streams of their own, which the ranks launch in different order. */
export function differentOrder(channels: number): Gang {
  const a = collective("a", 1);
  const b = collective("b", 2);
  return {
    ranks: [
      rank(0, [compute(0), a, b, compute(0, [1, 2])], channels),
      rank(1, [compute(0), b, a, compute(0, [1, 2])], channels),
    ],
  };
}

/** One stream's collective waits behind a computation of another stream that was launched before it. */
export function differentOrderBehindWork(): Gang {
  const a = (after: readonly number[] = []) => collective("a", 1, after);
  const b = (after: readonly number[] = []) => collective("b", 2, after);
  return {
    ranks: [
      rank(0, [a(), compute(0), b([1]), compute(0, [0, 2])], 1),
      rank(1, [b(), compute(0), a([1]), compute(0, [0, 2])], 1),
    ],
  };
}
