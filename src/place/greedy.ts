// The exact matching is compared with this; a cluster follows KACE's advice so.
import type { WeightMatrix } from "./assignment.ts";
import { UNMATCHED } from "./paths.ts";

/** If weights are equal, the earlier row and then the earlier column goes first. */
export function assignGreedily({ rows, columns, weights }: WeightMatrix): Int32Array {
  const edges = Array.from(weights.keys()).filter((edge) => (weights[edge] ?? 0) > 0);
  edges.sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0) || a - b);
  const partners = new Int32Array(rows).fill(UNMATCHED);
  const taken = new Uint8Array(columns);
  for (const edge of edges) {
    const row = Math.floor(edge / columns);
    const column = edge % columns;
    if (partners[row] !== UNMATCHED || taken[column] === 1) continue;
    partners[row] = column;
    taken[column] = 1;
  }
  return partners;
}
