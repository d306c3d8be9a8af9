// Reads public traces as jobs: when each was submitted, how long it ran alone, and on how many GPUs. Sources and their
// licences are in docs/guide/cluster.md. A row that cannot be right ends the reading with an error that names it. Rows
// that the format itself marks as no finished job (Alibaba's pending pods) are skipped.
import { badField, noJobs } from "../model/errors.ts";
import { gavelStepsPerSecond } from "./gavel-speeds.ts";
import { readRows, rowOf, timeOf } from "./rows.ts";

/**
 * A job of a trace. Times are in seconds; `model` is the trace's name of it, or "". A job of 0 GPUs needs none.
 */
export interface TracedJob {
  readonly name: string;
  readonly submitted: number;
  readonly seconds: number;
  readonly gpus: number;
  readonly model: string;
  readonly priority: number;
  /** The name of its workload, if the trace says it. */
  readonly workload?: string;
}

/** `cluster`: which one, if a file holds several. */
export type ReadTrace = (content: string, file: string, cluster?: string) => TracedJob[];

/** Microsoft Philly in the format of Pollux (OSDI'21): timestamp, duration, num_gpus, gpu_time, cluster. */
const readPhilly: ReadTrace = (content, file, cluster) => {
  const rows = readRows(content, file, ["timestamp", "duration", "num_gpus", "cluster"]);
  const known = [...new Set(rows.map((row) => row.text("cluster")))];
  const own = rows.filter((row) => cluster === undefined || row.text("cluster") === cluster);
  if (own.length === 0)
    throw noJobs(file, `it knows no cluster "${cluster}", but ${known.join(", ")}`);
  return own.map((row, i) => {
    const stamp = row.text("timestamp");
    const submitted = Date.parse(`${stamp.replace(" ", "T")}Z`) / 1000;
    if (!Number.isFinite(submitted))
      throw badField(row.place, "timestamp", stamp, "a date and time");
    return {
      name: `${row.text("cluster")}-${i}`,
      submitted,
      seconds: row.number("duration", { least: 0 }),
      gpus: row.number("num_gpus", { least: 1, whole: true }),
      model: "",
      priority: 0,
    };
  });
};

/** Gavel (OSDI'20), traces/msr_seed0: tab-separated, with steps of synthetic models instead of durations. */
const readGavel: ReadTrace = (content, file) => {
  const header = ["job", "command", "flag", "data", "steps", "arrival", "gpus"];
  const lines = content.split("\n").map((line, i) => ({ line, place: `${file}, line ${i + 1}` }));
  const jobs = lines
    .filter(({ line }) => line.trim() !== "")
    .map(({ line, place }, i): TracedJob => {
      const row = rowOf(header, line.split("\t"), place);
      const model = row.text("job");
      const rate = gavelStepsPerSecond[model];
      if (rate === undefined)
        throw badField(
          place,
          "job type",
          model,
          `one of ${Object.keys(gavelStepsPerSecond).join(", ")}`,
        );
      return {
        name: `gavel-${i}`,
        submitted: row.number("arrival", { least: 0 }),
        seconds: row.number("steps", { least: 0 }) / rate,
        gpus: row.number("gpus", { least: 1, whole: true }),
        model,
        priority: 0,
      };
    });
  if (jobs.length === 0) throw noJobs(file, "it is empty");
  return jobs;
};

/** Alibaba's GPU cluster of 2023 (openb_pod_list…): best-effort pods that ran on a GPU and ended. */
const readAlibaba: ReadTrace = (content, file) => {
  const columns = ["name", "num_gpu", "qos", "creation_time", "deletion_time", "scheduled_time"];
  const jobs = readRows(content, file, columns).flatMap((row): TracedJob[] => {
    const gpus = row.number("num_gpu", { least: 0, whole: true });
    const started = row.optional("scheduled_time");
    if (gpus === 0 || row.text("qos") !== "BE" || started === undefined) return [];
    const ended = row.number("deletion_time", { least: 0 });
    if (ended < started)
      throw badField(
        row.place,
        "deletion_time",
        String(ended),
        `a time after scheduled_time ${started}`,
      );
    const submitted = row.number("creation_time", { least: 0 });
    return [
      { name: row.text("name"), submitted, seconds: ended - started, gpus, model: "", priority: 0 },
    ];
  });
  if (jobs.length === 0) throw noJobs(file, "no best-effort pod in it ran on a GPU and ended");
  return jobs;
};

/** Muri (SIGCOMM'22): submit_time and duration in milliseconds. */
const readMuri: ReadTrace = (content, file) =>
  readRows(content, file, ["job_id", "num_gpu", "submit_time", "duration", "model_name"]).map(
    (row) => ({
      name: `job-${row.text("job_id")}`,
      submitted: row.number("submit_time", { least: 0 }) / 1000,
      seconds: row.number("duration", { least: 0 }) / 1000,
      gpus: row.number("num_gpu", { least: 1, whole: true }),
      model: row.text("model_name"),
      priority: 0,
    }),
  );

/** Tiresias (NSDI'19): submit_time and duration in seconds. */
const readTiresias: ReadTrace = (content, file) =>
  readRows(content, file, ["job_id", "num_gpu", "submit_time", "duration", "model_name"]).map(
    (row) => ({
      name: `job-${row.text("job_id")}`,
      submitted: row.number("submit_time", { least: 0 }),
      seconds: row.number("duration", { least: 0 }),
      gpus: row.number("num_gpu", { least: 1, whole: true }),
      model: row.text("model_name"),
      priority: 0,
    }),
  );

/**
 * Alibaba's disaggregated recommendation models of 2025 (disaggregated_DLRM_trace.csv): instances that were scheduled and
 * deleted within the trace; the others have no times. CPU nodes (gpu_request 0) need no GPU.
 */
const readAlibaba2025: ReadTrace = (content, file, cluster) => {
  const columns = ["instance_sn", "app_name", "gpu_request", "scheduled_time", "deletion_time"];
  const jobs = readRows(content, file, columns).flatMap((row): TracedJob[] => {
    const app = row.text("app_name");
    const started = row.optional("scheduled_time");
    const ended = row.optional("deletion_time");
    if ((cluster !== undefined && app !== cluster) || started === undefined || ended === undefined)
      return [];
    if (ended < started)
      throw badField(
        row.place,
        "deletion_time",
        String(ended),
        `a time after scheduled_time ${started}`,
      );
    return [
      {
        name: row.text("instance_sn"),
        submitted: row.optional("creation_time") ?? started,
        seconds: ended - started,
        gpus: row.number("gpu_request", { least: 0, whole: true }),
        model: app,
        priority: 0,
      },
    ];
  });
  if (jobs.length === 0) throw noJobs(file, "no instance in it was scheduled and deleted");
  return jobs;
};

/** The columns of the format `csv`, with what they are. */
export const csvColumns = {
  submitted: "when the job came: seconds, or a date and time",
  seconds: "how long it runs alone on the reference GPU",
  gpus: "how many GPUs it uses, 1 by default; jobs with 0 need none and are left out",
  workload: "by default drawn from the scenario's",
  priority: "0 by default; a larger number goes first",
  name: "by default its row",
} as const;

/** The generic format: columns in any order, of which two must be there. */
const readCsv: ReadTrace = (content, file) =>
  readRows(content, file, ["submitted", "seconds"]).map((row, i) => {
    const workload = row.text("workload");
    const given = (column: string) => row.text(column) !== "";
    return {
      name: row.text("name") || `job-${i}`,
      submitted: timeOf(row, "submitted"),
      seconds: row.number("seconds", { least: 0 }),
      gpus: given("gpus") ? row.number("gpus", { least: 0, whole: true }) : 1,
      model: workload,
      priority: given("priority") ? row.number("priority", { least: 0, whole: true }) : 0,
      ...(workload === "" ? {} : { workload }),
    };
  });

export const traceFormats: Readonly<Record<string, ReadTrace>> = {
  philly: readPhilly,
  gavel: readGavel,
  csv: readCsv,
  alibaba: readAlibaba,
  "alibaba-2025": readAlibaba2025,
  muri: readMuri,
  tiresias: readTiresias,
};
