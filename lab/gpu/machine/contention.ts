// How kernels that run at the same time slow each other down. They share three limited resources: issue slots
// (compute), DRAM bandwidth and L2 bandwidth. Each kernel needs a part of each. If the needs of a resource sum to
// more than its capacity, the resource is stretched by a factor. A kernel that needs nothing else slows down by the
// whole factor. Any other kernel slows down in proportion to how near it is to its own limit on that resource. A
// kernel's speed is 1 / the worst of its slowdowns. The factor is the smallest at which no more is used than the
// capacity.

export const COMPUTE = 0;
export const DRAM = 1;
export const L2 = 2;
export const RESOURCES = 3;

export interface Demanding {
  /** Compute, DRAM and L2 as parts of their peaks, undisturbed. */
  readonly need: Float64Array;
  /** Result: how many times longer the kernel takes, at least 1. */
  slowdown: number;
}

/** The reachable part of each peak. */
export type Capacity = readonly [compute: number, dram: number, l2: number];

const STEPS = 30;

/** Sets the slowdowns of the first `count` kernels. */
export function contend(running: readonly Demanding[], count: number, capacity: Capacity): void {
  for (let i = 0; i < count; i++) (running[i] as Demanding).slowdown = 1;
  if (count < 2) return;
  for (let resource = 0; resource < RESOURCES; resource++) {
    const most = capacity[resource] as number;
    let total = 0;
    let largest = 0;
    for (let i = 0; i < count; i++) {
      const need = (running[i] as Demanding).need[resource] as number;
      total += need;
      if (need > largest) largest = need;
    }
    // A kernel was measured to use this much alone, so the capacity is at least that.
    const limit = Math.max(most, largest);
    if (total > limit) stretch(running, count, capacity, resource, limit);
  }
}

/** How near its limit a kernel is on this resource, relative to where it is nearest. */
function weight({ need }: Demanding, resource: number, capacity: Capacity): number {
  const compute = (need[COMPUTE] as number) / capacity[COMPUTE];
  const dram = (need[DRAM] as number) / capacity[DRAM];
  const l2 = (need[L2] as number) / capacity[L2];
  return (need[resource] as number) / (capacity[resource] as number) / Math.max(compute, dram, l2);
}

/**
 * Solves sum(need / (1 + weight x)) = limit for x by Newton's method. The sum is convex and falls with x, so x only
 * grows.
 */
function stretch(
  running: readonly Demanding[],
  count: number,
  capacity: Capacity,
  resource: number,
  limit: number,
): void {
  let x = 0;
  for (let step = 0; step < STEPS; step++) {
    let used = 0;
    let slope = 0;
    for (let i = 0; i < count; i++) {
      const one = running[i] as Demanding;
      const need = one.need[resource] as number;
      if (need === 0) continue;
      const own = weight(one, resource, capacity);
      const part = need / (1 + own * x);
      used += part;
      slope += (own * part) / (1 + own * x);
    }
    const over = used - limit;
    if (over <= 1e-9 * limit) break;
    x += over / slope;
  }
  for (let i = 0; i < count; i++) {
    const one = running[i] as Demanding;
    if (one.need[resource] === 0) continue;
    const slowdown = 1 + weight(one, resource, capacity) * x;
    if (slowdown > one.slowdown) one.slowdown = slowdown;
  }
}
