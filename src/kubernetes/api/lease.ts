// Which of several managers decides: the holder of a Lease. Times written by others are never compared with a clock of
// ours. A holder is gone when its Lease has not changed for LEASE_MS since we first saw it so, and a holder stops earlier:
// RENEWED_WITHIN_MS after it sent its last renewal. So clocks may be apart as far as they like; they must only run at
// about the same speed. A holder renews by one request, on top of what it wrote last: an API server that takes seconds to
// answer then costs it no more than that.
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
  /** Whether we may write now. */
  holds(): boolean;
  /** Resolves when the Lease has been given back, after the signal aborted. */
  readonly ended: Promise<void>;
}

export interface LeaseOptions {
  readonly namespace: string;
  readonly name: string;
  /** No two managers have the same. */
  readonly identity: string;
  /** Monotonic, ms. */
  now(): number;
  /** Is called with changes and failures. */
  say(line: string): void;
}

/** Competes for the Lease until the signal aborts, and then gives it back. */
export function leadership(api: Api, options: LeaseOptions, signal: AbortSignal): Leadership {
  const { namespace, name, identity, now, say } = options;
  const all = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  let heldUntil = Number.NEGATIVE_INFINITY;
  let seen = { version: "", at: 0 };
  let wasHeld = false;
  /** The Lease as we wrote it last; undefined: it is not ours, or somebody may have written since. */
  let own: Lease | undefined;
  /** Another manager that has it, as we read it last. */
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

  /** Reads the Lease. Resolves to whether we may take it; then `own` is what is to be replaced. */
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
      // A slow answer has taken its part of the time already.
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
