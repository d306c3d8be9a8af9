// Takes the heaviest pair, then the heaviest of the remaining ones. The exact matching is compared with this. A cluster
// also follows KACE's advice in this way, one target after the other.
import type { WeightMatrix } from "./assignment.ts";
import { UNMATCHED } from "./paths.ts";

/** The column of each row, or UNMATCHED. Of equal weights, the earlier row and then the earlier column goes first. */
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
