// Invariants of a cluster, checked again and again.
import type { Watched } from "#kubernetes";
import type { Observed } from "./agents.ts";

export interface Invariants {
  /** Sentences about what did not hold. */
  broken(): readonly string[];
  /** How often it was looked. */
  looks(): number;
  stop(): void;
}

interface Named {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
}

export interface Claim extends Named {
  readonly metadata: Named["metadata"] & {
    readonly ownerReferences: readonly { readonly uid: string }[];
  };
  readonly status?: {
    readonly allocation?: {
      readonly devices: {
        readonly results: readonly {
          readonly pool: string;
          readonly device: string;
          readonly consumedCapacity: Readonly<Record<string, string>>;
        }[];
      };
    };
  };
}

const EACH_MS = 1000;
/** Kubernetes deletes what belonged to a pod some time after the pod. */
const GARBAGE_MS = 120_000;

/** `services`: pods that nobody may touch. `told`: what the agent of a node says of its GPUs. */
export function watchInvariants(
  claims: Watched<Claim>,
  pods: Watched<Named>,
  services: readonly Named[],
  told: (node: string) => readonly Observed[],
): Invariants {
  const broken = new Set<string>();
  const ownerless = new Map<string, number>();
  let looks = 0;

  const look = (): void => {
    const uids = new Set([...pods.values()].map(({ metadata }) => metadata.uid));
    for (const { metadata } of services)
      if (!uids.has(metadata.uid)) broken.add(`the service ${metadata.name} is gone`);
    const taken = new Map<string, { slots: number; bytes: number }>();
    for (const { metadata, status } of claims.values()) {
      const hasPod = metadata.ownerReferences.some(({ uid }) => uids.has(uid));
      if (hasPod) ownerless.delete(metadata.uid);
      else {
        const since = ownerless.get(metadata.uid) ?? performance.now();
        ownerless.set(metadata.uid, since);
        if (performance.now() - since > GARBAGE_MS)
          broken.add(`the claim ${metadata.name} has no pod`);
      }
      for (const { pool, device, consumedCapacity } of status?.allocation?.devices.results ?? []) {
        const key = `${pool}/${device}`;
        const { slots, bytes } = taken.get(key) ?? { slots: 0, bytes: 0 };
        taken.set(key, {
          slots: slots + Number(consumedCapacity.slots),
          bytes: bytes + bytesOf(consumedCapacity.memory ?? ""),
        });
      }
    }
    for (const [key, { slots, bytes }] of taken) {
      const [node = "", device = ""] = key.split("/");
      const gpu = told(node)[Number(device.replace("gpu-", ""))];
      if (gpu === undefined || slots > gpu.slots || bytes > gpu.memoryBytes)
        broken.add(`${key} has ${slots} claims of ${bytes} bytes, and ${JSON.stringify(gpu)}`);
    }
    looks += 1;
  };

  const timer = setInterval(look, EACH_MS);
  return {
    broken: () => [...broken],
    looks: () => looks,
    stop: () => clearInterval(timer),
  };
}

const bytesOf = (text: string): number => {
  const [, number = "", unit = ""] = /^(\d+)(Ki|Mi|Gi)?$/.exec(text) ?? [];
  return Number(number) * ({ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 }[unit] ?? 1);
};
