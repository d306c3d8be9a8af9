import { expectedOn, type Gpu, type Job, occupy, type Placement, type Rules } from "./state.ts";

/** Otherwise another job would take the slot of one that was moved. */
export interface KeptPlace {
  readonly owner: string;
  readonly gpu: string;
  readonly memoryBytes: number;
}

/** Slots whose jobs have not come are closed. Changes `gpus`. */
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
