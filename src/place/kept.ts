// Slots that are kept for the next jobs of those that were moved.
import { expectedOn, type Gpu, type Job, occupy, type Placement, type Rules } from "./state.ts";

/** A slot on a GPU that is kept for the next job of one that was moved: otherwise another job would take it. */
export interface KeptPlace {
  /** `owner` of the job that was moved. */
  readonly owner: string;
  /** Its UUID. */
  readonly gpu: string;
  readonly memoryBytes: number;
}

/** Gives kept slots to the first jobs of their owners, and closes those whose jobs have not come. Changes `gpus`. */
export function placeKept<G extends Gpu, J extends Job>(
  ordered: readonly J[],
  gpus: readonly G[],
  kept: readonly KeptPlace[],
  rules: Rules<G, J>,
): { readonly placed: readonly Placement<G, J>[]; readonly rest: readonly J[] } {
  if (kept.length === 0) return { placed: [], rest: ordered };
  const byUuid = new Map(gpus.map((gpu) => [gpu.uuid, gpu]));
  const rest = new Set(ordered);
  const placed: Placement<G, J>[] = [];
  for (const { owner, gpu: uuid, memoryBytes } of kept) {
    const gpu = byUuid.get(uuid);
    if (gpu === undefined || gpu.pods >= gpu.slots) continue;
    const job = ordered.find((one) => rest.has(one) && one.owner === owner);
    if (job && expectedOn(gpu, job, rules) && occupy(gpu, job, rules)) {
      rest.delete(job);
      placed.push({ job, gpu });
    } else if (!job) {
      gpu.pods += 1;
      gpu.freeBytes -= memoryBytes;
    }
  }
  return { placed, rest: [...rest] };
}
