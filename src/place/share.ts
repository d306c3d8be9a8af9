// How many SMs the best-effort side may use. MuxFlow, section 4.3: "assign the SM percentage according to the SM
// activity of online workloads". So the SMs are used up and the two sides do not contend for them.

/** MPS and green contexts take shares in steps; MuxFlow's figures (4b) are in tens of per cent. */
export const SHARE_STEP = 0.1;

const steps = (share: number): number => Math.floor(share / SHARE_STEP + 1e-9);
const bounded = (count: number, most: number): number =>
  Math.max(1, Math.min(count, steps(most))) * SHARE_STEP;

/** The complement of the high side's SM activity (0 to 1), in whole steps and at least one step. */
export const complementShare = (activity: number, most = 1): number =>
  bounded(steps(1 - activity), most);

/**
 * Shares for several best-effort jobs on a GPU. MPS limits each client and not their sum, so shares are given out under
 * a cap. They are max-min fair: a job that wants less than an equal part gets what it wants, and leaves the rest to the
 * others.
 */
export function shareOut(cap: number, wants: readonly number[]): number[] {
  const given = wants.map(() => 0);
  const order = [...wants.keys()].sort((a, b) => (wants[a] ?? 0) - (wants[b] ?? 0));
  let left = cap;
  order.forEach((client, served) => {
    const part = Math.min(wants[client] ?? 0, left / (order.length - served));
    given[client] = part;
    left -= part;
  });
  return given;
}
