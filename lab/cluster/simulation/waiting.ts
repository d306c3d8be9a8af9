// The jobs that wait, in the order of submission. An oversubscribed cluster has tens of thousands of them, and most
// schedulers serve equal jobs first come first served. So there is a queue for each kind of equal jobs, and only the
// front of each is looked at.
import type { Job } from "../model/plan.ts";
import type { Workload } from "../model/workload.ts";
import type { JobState } from "./state.ts";

export interface Waiting {
  readonly size: number;
  add(job: JobState): void;
  remove(job: JobState): void;
  /** The first `most` of each kind, in the order of submission. */
  first(most: number): readonly JobState[];
}

export function newWaiting(): Waiting {
  const queues = new Map<Workload, JobState[][]>();
  let size = 0;
  const queueOf = (job: JobState): JobState[] => {
    const kinds = queues.get(job.job.workload) ?? [];
    if (kinds.length === 0) queues.set(job.job.workload, kinds);
    const found = kinds.find(([front]) => front && isEqual(front.job, job.job));
    if (found) return found;
    const empty = kinds.find(({ length }) => length === 0);
    if (empty) return empty;
    const queue: JobState[] = [];
    kinds.push(queue);
    return queue;
  };
  return {
    get size() {
      return size;
    },
    add(job) {
      const queue = queueOf(job);
      queue.splice(placeOf(queue, job.index), 0, job);
      size++;
    },
    remove(job) {
      const queue = queueOf(job);
      const place = placeOf(queue, job.index);
      if (queue[place] !== job) throw new Error(`${job.job.name} does not wait`);
      queue.splice(place, 1);
      size--;
    },
    first: (most) =>
      [...queues.values()]
        .flat()
        .flatMap((queue) => queue.slice(0, most))
        .sort((a, b) => a.index - b.index),
  };
}

const isEqual = (a: Job, b: Job): boolean =>
  a.priority === b.priority && a.gpus === b.gpus && a.workload === b.workload;

/** Where a job is, or would be, in a queue that is sorted by index. */
function placeOf(queue: readonly JobState[], index: number): number {
  let [low, high] = [0, queue.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((queue[middle]?.index ?? 0) < index) low = middle + 1;
    else high = middle;
  }
  return low;
}
