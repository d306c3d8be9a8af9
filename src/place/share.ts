// MuxFlow, section 4.3, says: "assign the SM percentage according to the SM activity".

/** MPS and green contexts take shares in steps; MuxFlow's figures (4b) are in tens of per cent. */
export const SHARE_STEP = 0.1;

const steps = (share: number): number => Math.floor(share / SHARE_STEP + 1e-9);
const bounded = (count: number, most: number): number =>
  Math.max(1, Math.min(count, steps(most))) * SHARE_STEP;

export const complementShare = (activity: number, most = 1): number =>
  bounded(steps(1 - activity), most);

/** MPS limits each client, not their sum. Shares are max-min fair: small wants leave the rest. */
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
