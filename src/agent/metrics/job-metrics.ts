// One series for all processes of a job.
import { type Job, jobsOf } from "../status/jobs.ts";
import { isHigh } from "../words/sentences.ts";
import { type Metric, numbers, type Row, type Scope } from "./metric.ts";

const jobs: Scope<Job> = {
  labels: ["class", "name", "job_id"],
  find: (status) =>
    jobsOf(status.gpus).all.map((job) => [
      job,
      { class: job.class, name: job.name, job_id: job.job },
    ]),
};

const ofJob: Readonly<Record<string, Row<Job>>> = {
  job_processes: [
    "processes",
    "clients of a job: the ranks of a training",
    (j) => j.size.processes,
  ],
  job_gpus: ["GPUs", "on which the job has clients", (j) => j.size.gpus],
  job_retained_ratio: [
    "ratio",
    "best-effort: part of the last 4 s in which the work of its slowest process waited neither for services nor for another's turn",
    (j) => (isHigh(j) ? undefined : j.keptShare),
  ],
  job_memory_used_bytes: [
    "bytes",
    "best-effort: memory that its processes have allocated",
    (j) => (isHigh(j) ? undefined : j.memoryUsed),
  ],
};

export const jobMetrics: readonly Metric[] = numbers(jobs, ofJob);
