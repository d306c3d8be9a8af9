// Among equals the namespace with the fewest pods on GPUs comes first, then the longest wait.
import type { Pod } from "../state/objects.ts";

/** `having`: how many pods of a namespace have a part of a GPU already. */
export function inOrder<T extends { readonly pod: Pod }>(
  waiting: readonly T[],
  having: ReadonlyMap<string, number>,
): T[] {
  const oldestFirst = [...waiting].sort(
    ({ pod: a }, { pod: b }) =>
      priorityOf(b) - priorityOf(a) ||
      compare(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
      compare(a.metadata.uid, b.metadata.uid),
  );
  const given = new Map(having);
  const turns = new Map<T, number>();
  for (const one of oldestFirst) {
    const namespace = one.pod.metadata.namespace ?? "";
    const turn = given.get(namespace) ?? 0;
    turns.set(one, turn);
    given.set(namespace, turn + 1);
  }
  // Sorting is stable: the oldest of a turn stays the first of it.
  return oldestFirst.sort(
    (a, b) => priorityOf(b.pod) - priorityOf(a.pod) || (turns.get(a) ?? 0) - (turns.get(b) ?? 0),
  );
}

export const priorityOf = ({ spec }: Pod): number => spec.priority ?? 0;

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
