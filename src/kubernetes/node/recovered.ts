// The counters go with the GPUNode, so they cost no writes of their own.
import type { GpuStatus } from "#agent";
import { type SlowdownSeconds, slowdownStep } from "../labels/slowdown.ts";
import type { PreparedClaim } from "./claims.ts";
import { pairOf } from "./measured.ts";
import { SampleClock } from "./state/sample-clock.ts";

/** All counters begin at 0 with the node part, and with each pod. */
export interface Recovered {
  /** They are seconds of a pod that has a GPU alone. */
  readonly recovered: readonly {
    readonly podUid: string;
    readonly namespace: string;
    readonly gpuSeconds: number;
  }[];
  readonly slowdownSeconds: SlowdownSeconds;
}

interface Pod {
  readonly podUid: string;
  readonly namespace: string;
  gpuSeconds: number;
  isThere: boolean;
}

interface Counters {
  service: string | undefined;
  readonly pods: Map<string, Pod>;
  seconds: Record<string, number>;
}

export class Recovery {
  readonly #gpus = new Map<string, Counters>();
  readonly #clock = new SampleClock();

  /** `serviceOf`: UID of the pod that has a GPU. `now` in ms. */
  sample(
    claims: readonly PreparedClaim[],
    gpus: readonly GpuStatus[],
    serviceOf: (uuid: string) => string | undefined,
    now: number,
  ): void {
    const seconds = this.#clock.secondsUntil(now);
    for (const { uuid } of gpus) {
      const counters = this.#of(uuid, serviceOf(uuid));
      for (const pod of counters.pods.values()) pod.isThere = false;
      let slowdown: number | undefined;
      for (const claim of claims) {
        if (claim.gpu !== uuid) continue;
        const { podUid, namespace } = claim;
        const pod = counters.pods.get(podUid) ?? {
          ...{ podUid, namespace, gpuSeconds: 0, isThere: true },
        };
        pod.isThere = true;
        counters.pods.set(podUid, pod);
        const pair = pairOf(claim, gpus);
        if (pair === undefined) continue;
        pod.gpuSeconds += pair.retained * seconds;
        slowdown = Math.max(slowdown ?? 0, pair.slowdown ?? 0) || undefined;
      }
      if (slowdown === undefined || seconds === 0) continue;
      const step = slowdownStep(slowdown);
      counters.seconds[step] = (counters.seconds[step] ?? 0) + seconds;
    }
  }

  of(uuid: string): Recovered {
    const { pods = new Map<string, Pod>(), seconds = {} } = this.#gpus.get(uuid) ?? {};
    return {
      recovered: [...pods.values()].map(({ podUid, namespace, gpuSeconds }) => ({
        ...{ podUid, namespace, gpuSeconds: rounded(gpuSeconds) },
      })),
      slowdownSeconds: Object.fromEntries(
        Object.entries(seconds).map(([step, n]) => [step, rounded(n)]),
      ),
    };
  }

  /** Counters of pods that are gone are needed no more once they are written. */
  written(): void {
    for (const { pods } of this.#gpus.values())
      for (const [uid, { isThere }] of pods) if (!isThere) pods.delete(uid);
  }

  #of(uuid: string, service: string | undefined): Counters {
    let counters = this.#gpus.get(uuid);
    if (counters === undefined) {
      counters = { service, pods: new Map(), seconds: {} };
      this.#gpus.set(uuid, counters);
    }
    if (counters.service !== service) {
      counters.service = service;
      counters.seconds = {};
    }
    return counters;
  }
}

const rounded = (n: number): number => Math.round(n * 10) / 10;
