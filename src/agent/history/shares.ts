export interface Past {
  readonly spanNs: number;
  readonly activeNs: readonly number[];
  readonly bestEffort: readonly { readonly finishedNs: number; readonly heldNs: number }[];
}

export const shareNames = ["service", "bestEffort", "held", "recovered"] as const;
export type ShareName = (typeof shareNames)[number];
export type Shares = Readonly<Record<ShareName, number>>;

/**
 * service: a burst ran. bestEffort: best-effort work ran, and no burst. held: it waited, and no
 * burst ran. recovered: it ran on a GPU with a high client, also concurrently with bursts. With
 * several clients only sums are known, so service is an upper bound.
 */
export function sharesOf({ spanNs, activeNs, bestEffort }: Past): Shares {
  const part = (ns: number, most: number) => Math.min(most, Math.max(0, ns / spanNs));
  // Each amount is bounded before it is added, because clients write them.
  const whole = (amounts: readonly number[]) =>
    Math.min(
      1,
      amounts.map((ns) => part(ns, 1)).reduce((all, one) => all + one, 0),
    );
  const service = whole(activeNs);
  const ran = whole(bestEffort.map(({ finishedNs }) => finishedNs));
  const beside = Math.min(ran, 1 - service);
  const heldNs = Math.max(0, ...bestEffort.map((client) => client.heldNs));
  const held = part(heldNs - service * spanNs, 1 - service - beside);
  return { service, bestEffort: beside, held, recovered: activeNs.length > 0 ? ran : 0 };
}
