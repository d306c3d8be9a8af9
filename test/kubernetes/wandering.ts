// Node parts whose services' load and free memory wander, on virtual time: what they write is what a busy cluster's would.
import type { GpuStatus } from "#agent";
import type { Api } from "#kubernetes";
import { gpusOf, Publisher } from "#kubernetes/node";

const GIB = 2 ** 30;
const GPUS = 8;
const GIB_OF_A_GPU = 140;
const POLICY = { slots: 2, graceMs: 30_000 };

/** Lets a node part look each second for some time. `begin`: ms since 1970. */
export async function wander(
  api: Api,
  node: string,
  { seconds, seed, begin }: { seconds: number; seed: number; begin: number },
): Promise<void> {
  const publisher = new Publisher(api, node);
  await publisher.begin();
  const random = uniform(seed);
  // Load in windows of seconds, with a mean that itself goes up and down by the hour, at another time on each GPU.
  const phases = Array.from({ length: GPUS }, random);
  for (let s = 0; s < seconds; s++) {
    const now = begin + 1000 * s;
    const gpus = phases.map((phase, i) => {
      const mean = 0.4 + 0.25 * Math.sin(2 * Math.PI * (phase + s / 3600));
      const noise = 0.1 * (random() + random() + random() - 1.5);
      const memoryUsed = 60 * GIB + (random() - 0.5) * GIB;
      return {
        ...{ uuid: `GPU-${node}-${i}`, name: "NVIDIA H200", bestEffort: [] },
        high: [{ activeShare: within(mean + noise), identity: { pod: `${node}-${i}` } }],
        reading: { memoryTotal: GIB_OF_A_GPU * GIB, memoryUsed },
        health: { state: "healthy" },
      } as unknown as GpuStatus;
    });
    const pods = gpus.map((_, i) => ({
      metadata: {
        ...{ namespace: "default", name: `serve-${i}`, uid: `${node}-${i}`, resourceVersion: "1" },
        annotations: { "cotenant.io/class": "high" },
      },
      ...{ spec: { containers: [] }, status: {} },
    }));
    const holders = new Map(
      gpus.map(({ uuid }, i) => [
        uuid,
        { namespace: "default", name: `serve-${i}`, isReplica: false },
      ]),
    );
    const taints = publisher.taintsOf(gpus.map(({ uuid }) => uuid));
    const { services } = publisher;
    const seen = gpusOf({ now, gpus, agentAnswers: true, holders, pods, taints, services }, POLICY);
    await publisher.publish(seen, { problem: undefined, missed: [] }, now);
  }
}

const within = (share: number): number => Math.max(0, Math.min(1, share));

/** Lehmer's generator with the constants of Park and Miller: from 0 to 1. */
function uniform(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
