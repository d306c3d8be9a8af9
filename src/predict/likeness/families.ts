// Errors for a new workload are measured by leaving out such a group as a whole: tables hold a
// network at several batch sizes, and the others would reveal what is not known of a new one.

/** Published tables have 3 to 6 variants of a network. */
const MEMBERS = 4;
const MIN_MEMBERS = 3;
const MAX_FAMILIES = 12;

/** `gap`: squared distance. The nearest groups are joined; theirs is the mean over the members. */
export function familiesOf(
  workloads: number,
  gap: (a: number, b: number) => number,
): readonly number[] {
  const wanted = Math.min(
    workloads,
    MAX_FAMILIES,
    Math.max(MIN_MEMBERS, Math.round(workloads / MEMBERS)),
  );
  const groups = Array.from({ length: workloads }, (_, i) => [i]);
  const distance = groups.map(([i = 0]) => groups.map(([j = 0]) => Math.sqrt(gap(i, j))));
  while (groups.length > wanted) {
    let [a, b, least] = [0, 1, Number.POSITIVE_INFINITY];
    for (let i = 0; i < groups.length; i++)
      for (let j = i + 1; j < groups.length; j++) {
        const one = distance[i]?.[j] as number;
        if (one < least) [a, b, least] = [i, j, one];
      }
    join(groups, distance, a, b);
  }
  const found = new Array<number>(workloads).fill(0);
  groups.forEach((members, family) => {
    for (const member of members) found[member] = family;
  });
  return found;
}

function join(groups: number[][], distance: number[][], a: number, b: number): void {
  const [one, other] = [groups[a], groups[b]];
  const [near, far] = [distance[a], distance[b]];
  if (!one || !other || !near || !far) return;
  const [m, n] = [one.length, other.length];
  distance.forEach((row, k) => {
    const mean = (m * (near[k] as number) + n * (far[k] as number)) / (m + n);
    near[k] = mean;
    row[a] = mean;
  });
  one.push(...other);
  groups.splice(b, 1);
  distance.splice(b, 1);
  for (const row of distance) row.splice(b, 1);
}
