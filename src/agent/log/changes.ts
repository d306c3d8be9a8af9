// Clients write some of the sampled values, so the entries of each client are limited.
import type { ObjectiveState } from "#policy";
import { caveats } from "#protocol";
import type { Facts, Log } from "./log.ts";

export interface Standing {
  readonly gpu: string;
  readonly paused: boolean;
  /** undefined before a policy with objectives has judged the GPU. */
  readonly level: number | undefined;
  readonly clients: readonly ClientStanding[];
}

export interface ClientStanding {
  readonly id: string;
  readonly facts: Facts;
  readonly high: boolean;
  readonly state: ObjectiveState | undefined;
  readonly caveats: number;
  readonly unhooked: number;
  readonly memoryRefusals: number;
  readonly memoryQuota: number;
}

type Reported = Pick<Standing, "paused" | "level">;
type ToldClient = Pick<ClientStanding, "state" | "caveats" | "unhooked" | "memoryRefusals">;

const unseen: Reported = { paused: false, level: 0 };
const unseenClient: ToldClient = { state: undefined, caveats: 0, unhooked: 0, memoryRefusals: 0 };

const caveatTexts: Readonly<Record<keyof typeof caveats, string>> = {
  ranks: "it is one rank of several",
  gpus: "it uses several GPUs",
  pastUs: "it has loaded a library past Cotenant",
  tooMany: "it uses more contexts or streams than Cotenant follows",
};

export class Changes {
  readonly #log: Log;
  #gpus: ReadonlyMap<string, Reported> = new Map();
  #clients: ReadonlyMap<string, ToldClient> = new Map();

  constructor(log: Log) {
    this.#log = log;
  }

  note(standings: readonly Standing[]): void {
    const clients = new Map<string, ToldClient>();
    for (const { gpu, ...now } of standings) {
      this.#noteGpu(gpu, now);
      for (const client of now.clients) {
        const id = `${gpu} ${client.id}`;
        const facts = { ...client.facts, gpu };
        clients.set(id, this.#noteClient(facts, client, this.#clients.get(id) ?? unseenClient));
      }
    }
    this.#clients = clients;
    this.#gpus = new Map(standings.map(({ gpu, paused, level }) => [gpu, { paused, level }]));
  }

  noteLeaving(gpu: string, client: ClientStanding): void {
    const { memoryRefusals } = this.#clients.get(`${gpu} ${client.id}`) ?? unseenClient;
    if (client.memoryRefusals > memoryRefusals) this.#logRefusals({ ...client.facts, gpu }, client);
  }

  #logRefusals(facts: Facts, { memoryRefusals: times, memoryQuota: quota }: ClientStanding): void {
    this.#log("memory refused", { times, quota, ...facts });
  }

  #noteGpu(gpu: string, now: Reported): void {
    const before = this.#gpus.get(gpu) ?? unseen;
    if (now.paused !== before.paused)
      this.#log(now.paused ? "best-effort work paused" : "best-effort work resumed", { gpu });
    const [from, to] = [before.level ?? 0, now.level ?? 0];
    if (from !== to) this.#log("level", { from, to, gpu });
  }

  #noteClient(facts: Facts, now: ClientStanding, before: ToldClient): ToldClient {
    if (now.state !== before.state && now.state)
      this.#log("objective", { state: now.state, ...facts });
    const without = now.high ? "not wholly protected" : "not wholly held back";
    for (const [name, bit] of Object.entries(caveats))
      if ((now.caveats & ~before.caveats & bit) !== 0)
        this.#log(without, { ...facts, because: caveatTexts[name as keyof typeof caveats] });
    if (now.unhooked > 0 && before.unhooked === 0)
      this.#log(without, { ...facts, because: "it makes calls that Cotenant does not know" });
    // Refusals are logged again when they have doubled.
    const isMore = now.memoryRefusals > 0 && now.memoryRefusals >= 2 * before.memoryRefusals;
    if (isMore) this.#logRefusals(facts, now);
    return {
      state: now.state,
      caveats: before.caveats | now.caveats,
      unhooked: Math.max(before.unhooked, now.unhooked),
      memoryRefusals: isMore ? now.memoryRefusals : before.memoryRefusals,
    };
  }
}
