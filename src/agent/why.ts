import type { ClientClass } from "#protocol";
import type { Status } from "./status/status.ts";
import { nameOf } from "./system/index.ts";
import { type Admission, type Identity, identityOf, tenantOf } from "./tenants/index.ts";

export interface Explanation {
  readonly pid: number;
  readonly name: string;
  readonly identity: Identity | undefined;
  readonly tenant: string | undefined;
  readonly grant:
    | {
        readonly name: string;
        readonly class: ClientClass | "none";
        readonly slots: number | null; // on each GPU; null: no limit
        readonly share: number;
        readonly memory: number; // bytes; 0: no limit
      }
    | undefined;
  readonly slots: readonly {
    readonly gpu: string;
    readonly class: ClientClass;
    readonly grant: string | undefined; // undefined: not back at a restarted agent
  }[];
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
