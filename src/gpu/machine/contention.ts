// What kernels that run at one instant do to each other. Each asks for a part of three things that all SMs
// share a limit of: issue slots (compute), DRAM bandwidth, L2 bandwidth. Where the parts asked for sum to
// more than there is, that resource is stretched: a kernel that needs nothing else slows down by the whole
// stretch, another in proportion to how near its own limit it is there. A kernel's speed is 1 / the worst of
// its slowdowns. The stretch is the smallest at which no more is used than there is.

export const COMPUTE = 0;
export const DRAM = 1;
export const L2 = 2;
export const RESOURCES = 3;

export interface Demanding {
  /** Parts of the peak, undisturbed: compute, DRAM, L2. */
  readonly need: Float64Array;
  /** Answer: how many times longer everything takes, at least 1. */
  slowdown: number;
}

/** Parts of the peak that can be had, by resource. */
export type Capacity = readonly [compute: number, dram: number, l2: number];

const STEPS = 30;

/** Fills in the slowdowns of the first `count`. */
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
    // What one kernel was measured to use alone is there.
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

/** Solves sum(need / (1 + weight x)) = limit for x by Newton: convex and falling, so it comes from the left. */
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
