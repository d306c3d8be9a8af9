// What the simulator keeps of GPUs and jobs. Only simulate.ts changes it.

import { type Monitor, newMonitor } from "./monitor.ts";
import type { ClusterPlan, Job, Service } from "./plan.ts";
import type { RandomStream } from "./random-stream.ts";
import type { Sharing } from "./sharing.ts";

export interface GpuState {
  readonly index: number;
  readonly node: number;
  readonly type: string;
  readonly speed: number;
  readonly memoryGB: number;
  readonly freeMemoryGB: number;
  readonly service: number;
  /** Of the service's load: how much busier than its average GPU. */
  readonly unevenness: number;
  readonly monitor: Monitor;
  load: number;
  /** Work of requests that waits, seconds: now, and if it were alone. */
  backlog: number;
  backlogAlone: number;
  jobs: number[];
  sharing: Sharing;
  /** The figures above hold since then. */
  since: number;
}

export const NOTHING: Sharing = {
  slowdown: 1,
  retained: [],
  busy: 0,
  onlineActivity: 0,
  activity: 0,
};

export interface JobState {
  readonly job: Job;
  readonly index: number;
  /** Owner's estimate of the whole, seconds alone. */
  readonly estimate: number;
  phase: "to come" | "waiting" | "running" | "done";
  seats: readonly number[];
  share: number;
  /** Works from then on; before, it restarts. */
  readyAt: number;
  luck: number;
  /** Retained throughput now (the least of its GPUs'), and progress in seconds alone on the reference per second. */
  retained: number;
  rate: number;
  since: number;
  /** Seconds alone done; when this start began to work. */
  done: number;
  doneAtStart: number;
  /** Seconds on GPUs, and the seconds alone (on those very GPUs) that they were worth. */
  held: number;
  worth: number;
  /** Sum of retained x seconds and seconds at work, of this start: what an owner could measure. */
  measured: number;
  measuredSeconds: number;
  firstStart: number;
  finished: number;
  starts: number;
  /** Tells a finish that still holds from one predicted at an earlier rate. */
  version: number;
}

export function newGpus(
  { gpus, gpusPerNode, services, memoryQuota }: ClusterPlan,
  random: RandomStream,
): GpuState[] {
  const hosts = spreadServices(
    services,
    gpus.reduce((sum, { count }) => sum + count, 0),
  );
  return gpus
    .flatMap((group) => Array<typeof group>(group.count).fill(group))
    .map(({ type, speed, memoryGB }, index) => {
      const service = hosts[index] ?? -1;
      const host = services[service];
      return {
        index,
        node: Math.floor(index / gpusPerNode),
        type,
        speed,
        memoryGB,
        freeMemoryGB: host
          ? Math.min(memoryQuota * memoryGB, memoryGB - host.workload.memoryGB)
          : memoryGB,
        service,
        unevenness: Math.exp((host?.load.spread ?? 0) * random.normal()),
        monitor: newMonitor(),
        load: 0,
        backlog: 0,
        backlogAlone: 0,
        jobs: [],
        sharing: NOTHING,
        since: 0,
      };
    });
}

/** Services in turn over the GPUs, so that each type of GPU and each node has some of all. */
function spreadServices(services: readonly Service[], gpus: number): number[] {
  const left = services.map((service) => service.gpus);
  const hosts: number[] = [];
  for (let gpu = 0; gpu < gpus; gpu++) {
    // The service that is furthest behind its part goes next.
    let next = -1;
    let behind = 0;
    services.forEach((service, i) => {
      const due = (left[i] ?? 0) / service.gpus;
      if (due > behind) {
        behind = due;
        next = i;
      }
    });
    hosts.push(next);
    if (next >= 0) left[next] = (left[next] ?? 0) - 1;
  }
  return hosts;
}

export const newJobs = ({ jobs, noise }: ClusterPlan, random: RandomStream): JobState[] =>
  jobs.map((job, index) => ({
    job,
    index,
    estimate: job.seconds * Math.exp(noise.estimate * random.normal()),
    phase: "to come",
    seats: [],
    share: 0,
    readyAt: 0,
    luck: 1,
    retained: 0,
    rate: 0,
    since: 0,
    done: 0,
    doneAtStart: 0,
    held: 0,
    worth: 0,
    measured: 0,
    measuredSeconds: 0,
    firstStart: Number.NaN,
    finished: Number.NaN,
    starts: 0,
    version: 0,
  }));
