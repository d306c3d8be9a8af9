// Refuses a plan that cannot run before it starts.
import { jobTooLarge, jobTooWide, noJobs, pairNotMeasured } from "../model/errors.ts";
import type { ClusterPlan } from "../model/plan.ts";
import type { SchedulerKind } from "../schedulers/scheduler.ts";

export function checkPlan(
  { name, gpus, gpusPerNode, memoryQuota, services, jobs, truth }: ClusterPlan,
  scheduler: SchedulerKind,
): void {
  if (jobs.length === 0) throw noJobs(name, "its list of jobs is empty");
  const total = gpus.reduce((sum, { count }) => sum + count, 0);
  const shared = services.reduce((sum, service) => sum + service.gpus, 0);
  const onlineMemory = Math.max(0, ...services.map(({ workload }) => workload.memoryGB));
  const room = Math.max(
    ...gpus.map(({ memoryGB }) =>
      shared < total ? memoryGB : Math.min(memoryQuota * memoryGB, memoryGB - onlineMemory),
    ),
  );
  for (const { name: job, gpus: wide, workload } of jobs) {
    if (wide > total) throw jobTooLarge(job, `it needs ${wide} GPUs and the cluster has ${total}`);
    if (wide > 1 && !scheduler.gangs) throw jobTooWide(scheduler.name, job, wide);
    if (wide > 1 && gpusPerNode < 1) throw jobTooLarge(job, "nodes have no GPUs");
    if (workload.memoryGB > room)
      throw jobTooLarge(
        job,
        `${workload.name} needs ${workload.memoryGB} GB, and ${room.toFixed(1)} GB are free on the roomiest GPU`,
      );
  }
  const offline = new Set(jobs.map(({ workload }) => workload));
  for (const { workload: online } of services)
    for (const one of offline)
      if (!Number.isFinite(truth.together(online, one, 0.5).online))
        throw pairNotMeasured(online.name, one.name);
}
