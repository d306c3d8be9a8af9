// Tiresias (NSDI'19), discretised two-dimensional least attained service. A job sinks through queues as its GPU time so
// far (GPUs x seconds) passes limits. Within a queue, running jobs go on, then first come first served. Durations are
// not known. Starving jobs are not promoted (section 3.4), which its authors also leave off.
import { serve } from "./queue.ts";
import type { JobView, Scheduler, SchedulerKind } from "./scheduler.ts";

/** In GPU seconds, from the published code (SymbioticLab/Tiresias: three queues, the last without a limit). */
const QUEUE_LIMITS = [3_250, 7_200] as const;

export const tiresias: SchedulerKind = {
  name: "tiresias",
  summary: "least attained GPU time first, in three queues, with preemption; knows no durations",
  gangs: true,
  trigger: "rounds",
  make(): Scheduler {
    // A job gets a new place in line each time that it stops.
    const places = new Map<number, number>();
    let line = 0;
    return {
      mechanism: "space",
      protects: false,
      plan(view) {
        const ranked = view.jobs.map((job) => {
          const place = places.get(job.index) ?? line++;
          places.set(job.index, place);
          return { job, place, queue: queueOf(job), waits: job.placed ? 0 : 1 };
        });
        ranked.sort((a, b) => a.queue - b.queue || a.waits - b.waits || a.place - b.place);
        const orders = serve(
          view,
          ranked.map(({ job }) => job),
          true,
        );
        const running = new Set(orders.map(({ job }) => job));
        for (const { job } of ranked)
          if (job.placed && !running.has(job.index)) places.set(job.index, line++);
        return orders;
      },
    };
  },
};

function queueOf({ attained, gpus }: JobView): number {
  const queue = QUEUE_LIMITS.findIndex((limit) => attained * gpus < limit);
  return queue < 0 ? QUEUE_LIMITS.length : queue;
}
