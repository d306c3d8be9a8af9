// Rows outlive their Pairings, in the SharingReport of the job's namespace (decision 0043).
import type { PairRow } from "../../labels/pair.ts";
import type { Pairing, Pod } from "../state/objects.ts";

export const MAX_ROWS = 200;
const DONE = "done";

export type Rows = Map<string, PairRow>;

/** With another number of other pods beside the service, a Pairing is another pair. */
export const keyOf = ({ pairing, measured }: Pick<PairRow, "pairing" | "measured">): string =>
  `${pairing} ${measured.others}`;

interface LastRow {
  readonly namespace: string;
  readonly pod: string;
  readonly row: PairRow;
}

export class PairRows {
  #known = new Map<string, LastRow>();
  readonly #causes = new Map<string, string>();

  /** Returns the rows that are new or have changed, by namespace. */
  observe(pairings: Iterable<Pairing>): ReadonlyMap<string, readonly PairRow[]> {
    const changed = new Map<string, PairRow[]>();
    const add = (namespace: string, row: PairRow) =>
      changed.set(namespace, [...(changed.get(namespace) ?? []), row]);
    const known = new Map<string, LastRow>();
    const there = new Set<string>();
    for (const pairing of pairings) {
      const { namespace = "", uid } = pairing.metadata;
      there.add(uid);
      const row = rowOf(pairing);
      if (row === undefined) continue;
      known.set(uid, { namespace, pod: pairing.spec.pod, row });
      if (this.#known.get(uid)?.row.at !== row.at) add(namespace, row);
    }
    for (const [uid, { namespace, pod, row }] of this.#known) {
      if (there.has(uid)) continue;
      const cause = this.#causes.get(`${namespace}/${pod}`);
      this.#causes.delete(`${namespace}/${pod}`);
      add(namespace, { ...row, ended: cause ?? DONE });
    }
    this.#known = known;
    const pods = new Set([...known.values()].map(({ namespace, pod }) => `${namespace}/${pod}`));
    for (const pod of this.#causes.keys()) if (!pods.has(pod)) this.#causes.delete(pod);
    return changed;
  }

  evicted({ metadata: { namespace, name } }: Pod, cause: string): void {
    const pod = `${namespace}/${name}`;
    if (!this.#causes.has(pod)) this.#causes.set(pod, cause);
  }

  reset(): void {
    this.#known = new Map();
    this.#causes.clear();
  }
}

/** undefined until something was measured, and of a Pairing of an older manager or node part. */
function rowOf({ metadata, spec, status }: Pairing): PairRow | undefined {
  const { pair: measured, at } = status?.measured ?? {};
  if (spec.names === undefined || measured === undefined || at === undefined) return undefined;
  const { retained, retainedLow, retainedHigh, slowdown, bursts, from } = spec.predicted;
  return {
    ...{ pairing: metadata.uid, ...spec.names, measured, at },
    predicted: {
      ...{ retained, from },
      ...(retainedLow !== undefined && { retainedLow }),
      ...(retainedHigh !== undefined && { retainedHigh }),
      ...(slowdown !== undefined && { slowdown }),
      ...(bursts && { bursts }),
    },
  };
}

/** Where there are too many, the oldest of the most frequent pair goes, so that rare pairs stay. */
export function withRows(before: readonly PairRow[], changed: Iterable<PairRow>): PairRow[] {
  const rows: Rows = new Map(before.map((row) => [keyOf(row), row]));
  for (const row of changed) {
    const known = rows.get(keyOf(row));
    // A node part that was restarted has counted fewer seconds.
    const isLess = known !== undefined && known.measured.seconds > row.measured.seconds;
    rows.set(keyOf(row), isLess ? { ...known, ...endOf(row) } : row);
  }
  const all = [...rows.values()].sort((one, other) => one.at.localeCompare(other.at));
  while (all.length > MAX_ROWS) {
    const counts = new Map<string, number>();
    for (const row of all) counts.set(pairOf(row), (counts.get(pairOf(row)) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const oldest = all.findIndex((row) => counts.get(pairOf(row)) === most);
    all.splice(oldest, 1);
  }
  return all;
}

const endOf = ({ ended }: PairRow) => (ended === undefined ? {} : { ended });

const pairOf = ({ job, service }: PairRow): string => `${job.workload} ${service.workload}`;
