// Ranks of a high job on several GPUs hold best-effort work on all of them (decision 0060). Here the agent tells each rank
// which GPUs these are, and which rank observes the steps of the others.
import { caveats, constants, type HighSlot, type View } from "#protocol";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import { jobId } from "../jobs/job-name.ts";
import type { Meters, OnGpu } from "../meters/meters.ts";
import { seesEnds } from "../status/whole.ts";

/** The agent writes this into the slot of a rank. */
interface Told {
  readonly others: readonly { readonly gpu: ServedGpu; readonly follower: Client | undefined }[];
  readonly follows: boolean;
}

type Rank = OnGpu & { readonly slot: View<typeof HighSlot> };

export class JobGpus {
  readonly #meters: Pick<Meters, "ownSteps" | "setObserver">;
  /** The texts stand for what was written into the slots. */
  readonly #told = new WeakMap<Client, string>();

  constructor(meters: Pick<Meters, "ownSteps" | "setObserver">) {
    this.#meters = meters;
  }

  look(gpus: readonly ServedGpu[]): void {
    const high = gpus.flatMap((gpu) =>
      gpu.clients.flatMap((client) => {
        const slot = client.class === "high" ? gpu.region.memory.high[client.slot] : undefined;
        return slot ? [{ gpu, client, slot }] : [];
      }),
    );
    // A restarted agent does not know the jobs of clients that have not come back yet.
    if (high.some(({ client }) => !client.connected)) return;
    for (const clients of byJob(high)) {
      const ranks = clients.filter(({ slot }) => slot.ranks === 1);
      const together = ranks.length > 1 ? ranks : [];
      const observer = this.#observerOf(together);
      const followers = observer ? followersOf(observer, together) : [];
      for (const one of clients) {
        const follows = followers.includes(one);
        this.#meters.setObserver(one.client, follows ? observer : undefined);
        if (!together.includes(one)) this.#tell(one, undefined);
        else
          this.#tell(one, {
            others: gpusBeside(one, together).map((gpu) => ({
              gpu,
              follower:
                one === observer ? followers.find((rank) => rank.gpu === gpu)?.client : undefined,
            })),
            follows,
          });
      }
    }
  }

  /** undefined: none of them, or several. Each then counts its own steps. */
  #observerOf(ranks: readonly Rank[]): Rank | undefined {
    const [observer, ...others] = ranks.filter(
      ({ gpu, client, slot }) => this.#meters.ownSteps(gpu, client)?.has === true && seesEnds(slot),
    );
    return others.length === 0 ? observer : undefined;
  }

  /** `told` undefined: it is alone. The slot may have words of the last agent. */
  #tell({ client, slot }: Rank, told: Told | undefined): void {
    const text = told ? textOf(told) : ALONE;
    const before = this.#told.get(client) ?? (slot.jobVersion === 0 ? ALONE : undefined);
    if (text === before) return;
    this.#told.set(client, text);
    const version = slot.jobVersion - (slot.jobVersion % 2);
    slot.jobVersion = version + 1;
    const { others = [], follows = false } = told ?? {};
    others.forEach(({ gpu, follower }, i) => {
      slot.jobGpus.set(gpu.identity.uuid, UUID_BYTES * i);
      slot.jobSlots.set(i, follower ? follower.slot + 1 : 0);
    });
    slot.jobCount = others.length;
    slot.follows = follows ? 1 : 0;
    slot.jobVersion = version + 2;
  }
}

/** The other GPUs on which each high client holds best-effort work for its job, as it has taken slots there. */
export function heldForJobs(gpus: readonly ServedGpu[]): (client: Client) => readonly string[] {
  const held = new Map<string, readonly string[]>();
  for (const { uuid, everyone } of gpus)
    for (const client of everyone)
      if (client.holdsOnly)
        held.set(processOf(client), [...(held.get(processOf(client)) ?? []), uuid]);
  return (client) => held.get(processOf(client)) ?? NONE;
}

/** The caveat of ranks ends where a rank holds best-effort work on the GPUs of the others. */
export const caveatsOf = (own: number, held: readonly string[]): number =>
  held.length > 0 ? own & ~caveats.ranks : own;

const NONE: readonly string[] = [];

const processOf = ({ pid, startTime }: Client): string => `${pid} ${startTime}`;

function byJob(ranks: readonly Rank[]): Iterable<readonly Rank[]> {
  const jobs = new Map<string, Rank[]>();
  for (const rank of ranks) {
    const job = jobs.get(jobId(rank.client));
    if (job) job.push(rank);
    else jobs.set(jobId(rank.client), [rank]);
  }
  return jobs.values();
}

const ALONE = "";
const UUID_BYTES = 16;

const textOf = ({ others, follows }: Told): string =>
  [follows, ...others.map(({ gpu, follower }) => `${gpu.uuid} ${follower?.slot ?? ""}`)].join();

/** One on each other GPU. The observer writes into its entry there. */
function followersOf(observer: Rank, ranks: readonly Rank[]): readonly Rank[] {
  return gpusBeside(observer, ranks).flatMap(
    (gpu) => ranks.find((rank) => rank.gpu === gpu && !isOneProcess(rank, observer)) ?? [],
  );
}

/** The GPUs of the other ranks that its process does not use itself. */
function gpusBeside(one: Rank, ranks: readonly Rank[]): readonly ServedGpu[] {
  const own = ranks.filter((rank) => isOneProcess(rank, one)).map(({ gpu }) => gpu);
  const others = ranks.map(({ gpu }) => gpu).filter((gpu) => !own.includes(gpu));
  return [...new Set(others)].slice(0, constants.MAX_JOB_GPUS);
}

const isOneProcess = ({ client: one }: Rank, { client: other }: Rank): boolean =>
  processOf(one) === processOf(other);
