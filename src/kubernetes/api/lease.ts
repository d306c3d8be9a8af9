// Times written by others are never compared with our clock. A holder is gone when its Lease has
// not changed for LEASE_MS since we first saw it so; it stops RENEWED_WITHIN_MS after its last
// renewal. So clocks may differ, if only they run at about the same speed.
import { setTimeout as wait } from "node:timers/promises";
import { dateNow } from "#core";
import { type Api, ApiError } from "./client.ts";

const LEASE_MS = 15_000;
const RENEWED_WITHIN_MS = 10_000;
const EACH_MS = 2000;

interface Lease {
  readonly metadata: { readonly resourceVersion: string };
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

export interface Leadership {
  holds(): boolean;
  readonly ended: Promise<void>;
}

export interface LeaseOptions {
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  /** It is monotonic, in ms. */
  now(): number;
  say(line: string): void;
}

/** The Lease is given back when the signal aborts. */
export function leadership(api: Api, options: LeaseOptions, signal: AbortSignal): Leadership {
  const { namespace, name, identity, now, say } = options;
  const all = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  let heldUntil = Number.NEGATIVE_INFINITY;
  let seen = { version: "", at: 0 };
  let wasHeld = false;
  /** undefined: the Lease is not ours, or somebody may have written since. */
  let own: Lease | undefined;
  let other = "";

  const spec = (before: Lease["spec"] | undefined): Lease["spec"] => {
    // A time of the API has microseconds.
    const at = dateNow().replace("Z", "000Z");
    const ours = before?.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: LEASE_MS / 1000,
      renewTime: at,
      acquireTime: (ours && before.acquireTime) || at,
      leaseTransitions: (before?.leaseTransitions ?? 0) + (ours || !before ? 0 : 1),
    };
  };

  const attempt = async (): Promise<void> => {
    const sentAt = now();
    if (own === undefined && !(await isFree())) return;
    const written =
      own === undefined
        ? await api.create<Lease>(all, {
            ...{
              apiVersion: "coordination.k8s.io/v1",
              kind: "Lease",
              metadata: { name, namespace },
            },
            spec: spec(undefined),
          })
        : await api.replace<Lease>(`${all}/${name}`, { ...own, spec: spec(own.spec) });
    own = written;
    heldUntil = sentAt + RENEWED_WITHIN_MS;
  };

  /** If it resolves to true, `own` is what is to be replaced. */
  const isFree = async (): Promise<boolean> => {
    const lease = await api.find<Lease>(`${all}/${name}`);
    other = "";
    if (lease === undefined) return true;
    const { holderIdentity: holder = "" } = lease.spec;
    const version = lease.metadata.resourceVersion;
    if (version !== seen.version) seen = { version, at: now() };
    if (holder !== "" && holder !== identity && now() - seen.at < LEASE_MS) {
      other = holder;
      return false;
    }
    own = lease;
    return true;
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const begun = now();
      try {
        await attempt();
      } catch (error) {
        // It may have been written all the same, or by another: then it has another version.
        own = undefined;
        // 409: another manager was faster.
        if (!(error instanceof ApiError && error.status === 409))
          say(
            `the Lease could not be read or renewed: ${error instanceof Error ? error.message : error}`,
          );
      }
      const holds = now() < heldUntil;
      if (holds !== wasHeld)
        say(
          holds
            ? "decides from now on"
            : other === ""
              ? "decides no more: it could not renew its Lease in time"
              : `decides no more: the manager ${other} does`,
        );
      wasHeld = holds;
      const left = Math.max(0, begun + EACH_MS - now());
      await wait(left, undefined, { signal }).catch(() => {}); // it was aborted
    }
    const held = now() < heldUntil;
    heldUntil = Number.NEGATIVE_INFINITY;
    if (held) await giveBack().catch(() => {}); // the others wait until it ends
  };

  const giveBack = async (): Promise<void> => {
    const lease = await api.get<Lease>(`${all}/${name}`);
    if (lease.spec.holderIdentity !== identity) return;
    await api.replace(`${all}/${name}`, { ...lease, spec: { ...lease.spec, holderIdentity: "" } });
  };

  return { holds: () => now() < heldUntil, ended: run() };
}
