// The role that a process may have on this machine, and the reason: the answer to `cotenant why PID`.
import type { ClientClass } from "#protocol";
import type { Status } from "./status/status.ts";
import { nameOf } from "./system/index.ts";
import { type Admission, type Identity, identityOf, tenantOf } from "./tenants/index.ts";

export interface Explanation {
  readonly pid: number;
  readonly name: string;
  /** undefined: there is no such process. */
  readonly identity: Identity | undefined;
  /** The tenant with which it shares slots. */
  readonly tenant: string | undefined;
  readonly grant:
    | {
        readonly name: string;
        readonly class: ClientClass | "none";
        /** On each GPU; null: no limit. */
        readonly slots: number | null;
        readonly share: number;
        /** Bytes; 0: no limit. */
        readonly memory: number;
      }
    | undefined;
  /** The slots that it holds. */
  readonly slots: readonly {
    readonly gpu: string;
    readonly class: ClientClass;
    /** The grant that applied; undefined while the client has not come back to a restarted agent. */
    readonly grant: string | undefined;
  }[];
  /** GPUs that it is on without a slot. */
  readonly strangerOn: readonly string[];
}

export function explain(pid: number, admission: Admission, { gpus }: Status): Explanation {
  const identity = identityOf(pid);
  const grant = identity && admission.grantFor(identity);
  const clients = gpus.flatMap((gpu) =>
    [...gpu.high, ...gpu.bestEffort].map((client) => ({ gpu: gpu.uuid, client })),
  );
  return {
    pid,
    name: nameOf(pid),
    identity,
    tenant: identity && tenantOf(identity),
    grant: grant && {
      name: grant.name,
      class: grant.class,
      slots: Number.isFinite(grant.slots) ? grant.slots : null,
      share: grant.share,
      memory: grant.memory,
    },
    slots: clients
      .filter(({ client }) => client.pid === pid)
      .map(({ gpu, client }) => ({ gpu, class: client.class, grant: client.grant })),
    strangerOn: gpus
      .filter(({ strangers }) => strangers.some((stranger) => stranger.pid === pid))
      .map(({ uuid }) => uuid),
  };
}
