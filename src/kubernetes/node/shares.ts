// The agent keeps to a share as an upper bound. It counts no more once the manager's Lease has not
// changed for a while: it would be about the load of an hour ago.
import type { AgentFile, AskedShare, GpuStatus } from "#agent";
import { askToShare } from "#client";
import type { Api } from "../api/client.ts";
import type { Named, Watched } from "../api/watched.ts";
import { MANAGER_LEASE, SYSTEM_NAMESPACE } from "../labels/names.ts";
import type { PreparedClaim } from "./claims.ts";
import type { NodePairing } from "./state/objects.ts";

const LOOK_EACH_MS = 20_000;
const LOOK_AGAIN_MS = 10_000;
/** A manager whose Lease has not changed for this long is gone. Another takes over within 17 s. */
const GONE_AFTER_MS = 60_000;

/** A share is repeated so often, because the agent forgets it after a minute. */
const REPEAT_EACH_MS = 10_000;

export class Shares {
  readonly #pairings: Pick<Watched<NodePairing>, "get">;
  readonly #manager: ManagerSeen;
  #repeatAt = Number.NEGATIVE_INFINITY;

  constructor(api: Api, pairings: Pick<Watched<NodePairing>, "get">) {
    this.#pairings = pairings;
    this.#manager = new ManagerSeen(api);
  }

  /** `now` is in ms, monotonic. Rejects when the API server does not answer. */
  async look(claims: readonly PreparedClaim[], now: number): Promise<void> {
    if (claims.length > 0) await this.#manager.look(now);
  }

  async tell(
    agent: AgentFile,
    claims: readonly PreparedClaim[],
    gpus: readonly GpuStatus[],
    now: number,
  ): Promise<void> {
    const repeats = now >= this.#repeatAt;
    if (repeats) this.#repeatAt = now + REPEAT_EACH_MS;
    const isManaged = this.#manager.lives(now);
    const all = sharesToTell(claims, this.#pairings, isManaged, gpus);
    for (const { uuid, pod, given } of repeats ? all : all.filter((one) => isNew(one, gpus)))
      await askToShare(agent, uuid, pod, given);
  }
}

export const isNew = ({ uuid, pod, given }: ShareToTell, gpus: readonly GpuStatus[]): boolean =>
  !gpus.some(
    (gpu) =>
      gpu.uuid === uuid &&
      gpu.bestEffort.some(
        ({ givenShare, identity }) => identity?.pod === pod && givenShare?.share === given?.share,
      ),
  );

/** Clocks of nodes are not compared: it goes by when this process saw the Lease change. */
export class ManagerSeen {
  readonly #api: Api;
  #version: string | undefined;
  #changedAt = Number.NEGATIVE_INFINITY;
  #lookAt = Number.NEGATIVE_INFINITY;

  constructor(api: Api) {
    this.#api = api;
  }

  async look(now: number): Promise<void> {
    if (now < this.#lookAt) return;
    this.#lookAt = now + (this.lives(now) ? LOOK_EACH_MS : LOOK_AGAIN_MS);
    const path = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases/${MANAGER_LEASE}`;
    const lease = await this.#api.find<Named>(path);
    const version = lease?.metadata.resourceVersion;
    // A process that has just started may find a Lease that was left behind long ago.
    if (version !== this.#version && this.#version !== undefined) this.#changedAt = now;
    this.#version = version;
  }

  lives(now: number): boolean {
    return this.#version !== undefined && now - this.#changedAt < GONE_AFTER_MS;
  }
}

/** `pod` is a UID; `given` is undefined if it has no share any more. */
interface ShareToTell {
  readonly uuid: string;
  readonly pod: string;
  readonly given: AskedShare | undefined;
}

export function sharesToTell(
  claims: readonly PreparedClaim[],
  pairings: Pick<Watched<NodePairing>, "get">,
  isManaged: boolean,
  gpus: readonly GpuStatus[],
): readonly ShareToTell[] {
  const told: ShareToTell[] = [];
  const holding = new Set<string>();
  for (const { gpu: uuid, namespace, name, podUid: pod } of isManaged ? claims : []) {
    const spec = pairings.get(name, namespace)?.spec;
    if (spec === undefined || spec.gpu !== uuid || !(spec.share > 0 && spec.share <= 1)) continue;
    holding.add(pod);
    told.push({
      uuid,
      pod,
      given: { share: spec.share, from: `the Pairing ${namespace}/${name}` },
    });
  }
  for (const { uuid, bestEffort } of gpus)
    for (const pod of new Set(
      bestEffort.flatMap(({ givenShare, identity }) => (givenShare && identity?.pod) ?? []),
    ))
      if (!holding.has(pod)) told.push({ uuid, pod, given: undefined });
  return told;
}
