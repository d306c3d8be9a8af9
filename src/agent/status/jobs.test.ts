import { expect, test } from "vitest";
import { exampleStatus } from "../../../test/agent/example.ts";
import { sentencesAbout, sentencesOn } from "../words/sentences.ts";
import { jobsOf, pidText, ranksText, sizeText, spansGpus } from "./jobs.ts";
import type { BestEffortStatus, GpuStatus, HighStatus } from "./status.ts";

const [gpu] = exampleStatus.gpus;
const [serve, train] = [gpu?.high[0], gpu?.bestEffort[0]];
if (!gpu || !serve || !train) throw new Error("no example");

const rank = (number: number, change: Partial<BestEffortStatus> = {}): BestEffortStatus => ({
  ...train,
  ...{ pid: 100 + number, rank: number, job: "gang" },
  gang: { ranks: 2, commits: 40 + number, timeouts: 1, progress: 0 },
  ...change,
});
const process = (pid: number, change: Partial<BestEffortStatus> = {}): BestEffortStatus => ({
  ...train,
  ...{ name: "mpi", job: "mpi", pid, slot: pid },
  ...change,
});
const service = (pid: number, change: Partial<HighStatus> = {}): HighStatus => ({
  ...serve,
  ...{ name: "llm", job: "llm", pid, slot: pid },
  ...change,
});
const on = (
  uuid: string,
  high: readonly HighStatus[],
  bestEffort: readonly BestEffortStatus[] = [],
): GpuStatus => ({
  ...{ ...gpu, uuid, high, bestEffort, strangers: [] },
  ...{ health: undefined, shareBound: undefined },
});

test("ranks on two GPUs are one job, as fast as the slowest", () => {
  const jobs = jobsOf([
    on("GPU-a", [], [rank(0, { keptShare: 0.9, gpuShare: 0.5, heldShare: 0.1 })]),
    on("GPU-b", [], [rank(1, { keptShare: 0.6, gpuShare: 0.3, heldShare: 0.4 }), process(7)]),
  ]);
  expect(jobs.all.map(({ name, size }) => [name, size])).toEqual([
    ["train", { processes: 2, gpus: 2 }],
    ["mpi", { processes: 1, gpus: 1 }],
  ]);
  const [gang] = jobs.all;
  expect(gang).toMatchObject({ keptShare: 0.6, gpuShare: 0.3, heldShare: 0.4, memoryUsed: 2000 });
  expect(jobs.gpus.map(({ bestEffort }) => bestEffort.map(({ keptShare }) => keptShare))).toEqual([
    [0.9],
    [0.6, 0.9],
  ]);
  expect(jobs.gpus[1]?.bestEffort.map((part) => [spansGpus(part), ranksText(part)])).toEqual([
    [true, "rank 1"],
    [false, ""],
  ]);
  expect(gang && sizeText(gang)).toBe("2 ranks on 2 GPUs");
  expect(gang && sentencesAbout(gang, jobs, exampleStatus.agent)).toEqual([
    "train (pids 100, 101) is one job of 2 ranks on 2 GPUs: it retains 60 %, limited by rank 1 (pid 101); 41 of its collectives were committed, of which 1 timed out waiting for other ranks",
  ]);
  expect(
    jobs.gpus.flatMap((one) => sentencesOn(one, exampleStatus.agent)).join("\n"),
  ).not.toContain("train");
});

test("processes of one job on a GPU are one client of it, with the sum of their figures", () => {
  const { all, gpus } = jobsOf([
    on(
      "GPU-a",
      [],
      [
        process(7, { gpuShare: 0.2, aheadUs: 10, memoryUsed: 100, keptShare: 0.8 }),
        process(8, { gpuShare: 0.3, aheadUs: 20, memoryUsed: 200, keptShare: 0.7 }),
      ],
    ),
  ]);
  const [job, ...others] = gpus[0]?.bestEffort ?? [];
  expect(others).toEqual([]);
  expect(job).toMatchObject({ gpuShare: 0.5, aheadUs: 30, memoryUsed: 300, keptShare: 0.7 });
  expect(job && pidText(job)).toBe("7 +1");
  expect(all.map(sizeText)).toEqual(["2 processes"]);
});

test("a gang whose other ranks have not come says how many there are", () => {
  const { all } = jobsOf([
    on("GPU-a", [], [rank(0, { gang: { ranks: 4, commits: 0, timeouts: 0, progress: 0 } })]),
    on("GPU-b", [], [rank(1)]),
  ]);
  expect(all.map(sizeText)).toEqual(["2 of 4 ranks on 2 GPUs"]);
});

test("a service has the figures of the process that observes its outputs, and says once what is not protected", () => {
  const observer = service(8, { bursts: 90, tailWrites: 1, activeShare: 0.3, caveats: 1 });
  const other = service(7, { bursts: 100, tailWrites: 80, activeShare: 0.9, caveats: 1 });
  const jobs = jobsOf([on("GPU-a", [other]), on("GPU-b", [observer])]);
  const [job] = jobs.all;
  expect(job).toMatchObject({ pid: 8, gpu: "GPU-b", activeShare: 0.3 });
  expect(job && sentencesAbout(job, jobs, exampleStatus.agent)).toEqual([
    "llm (pids 7, 8) is one service of 2 processes on 2 GPUs: its figures are those of pid 8, which observes its outputs; each process is protected on its own GPU alone: while one is active, best-effort work beside another one goes on",
  ]);
  expect(jobs.gpus.flatMap((one) => sentencesOn(one, exampleStatus.agent))).toEqual([]);
});

test("a service says that it is protected on all of its GPUs if each of its processes holds on all", () => {
  const said = (...held: readonly (readonly string[])[]) => {
    const [first, second] = held.map((holdsOn, i) => service(7 + i, { bursts: 90, holdsOn }));
    const jobs = jobsOf([on("GPU-a", first ? [first] : []), on("GPU-b", second ? [second] : [])]);
    return jobs.all.flatMap((job) => sentencesAbout(job, jobs, exampleStatus.agent)).join();
  };
  const together = "; while one is active, best-effort work waits on all of their GPUs";
  expect(said(["GPU-b"], ["GPU-a"])).toContain(together);
  expect(said(["GPU-b"], [])).toContain("; each process is protected on its own GPU alone");
});

test("the process that reports requests stands for a service, however its work ends", () => {
  const told = { perS: 1, open: 0, failed: 0, forgotten: 0, times: {} } as HighStatus["told"];
  const reporting = service(8, { bursts: 10, tailWrites: 9, told });
  const { all } = jobsOf([on("GPU-a", [service(7), reporting])]);
  expect(all.map(({ pid }) => pid)).toEqual([8]);
});

test("of workers that serve by themselves the worst is shown, with the bursts of all", () => {
  const worker = (pid: number, change: Partial<HighStatus>) =>
    service(pid, { bursts: 90, ...change });
  const level = 0;
  const jobs = jobsOf([
    on("GPU-a", [
      worker(7, { burstsPerS: 10, burstP99Us: 9000, objective: { state: "met", level } }),
      worker(8, { burstsPerS: 20, burstP99Us: 5000, objective: { state: "missed", level } }),
      worker(9, { bursts: 90, tailWrites: 80, burstsPerS: 40 }),
    ]),
  ]);
  expect(jobs.all).toMatchObject([{ pid: 8, burstsPerS: 30, objective: { state: "missed" } }]);
  expect(jobs.gpus.flatMap((one) => sentencesOn(one, exampleStatus.agent))).toEqual([
    "llm (pids 7, 8, 9) is one service of 3 processes: several of them observe outputs, so bursts a second are added, and other figures are those of pid 8, which fares worst",
  ]);
  const idle = [worker(7, { burstP99Us: 9000 }), worker(8, { burstP99Us: undefined })];
  expect(jobsOf([on("GPU-a", idle)]).all.map(({ pid }) => pid)).toEqual([7]);
});

test("a burst of a process on two GPUs is counted once", () => {
  const { all } = jobsOf([on("GPU-a", [service(7)]), on("GPU-b", [service(7)])]);
  expect(all).toMatchObject([{ burstsPerS: 25, size: { processes: 1, gpus: 2 } }]);
});

test("clients of different jobs stay apart, and so do those of an older agent, which says nothing of jobs", () => {
  const apart = [process(7), process(8, { job: "another" })];
  expect(jobsOf([on("GPU-a", [], apart)]).gpus[0]?.bestEffort).toHaveLength(2);
  const older = apart.map(({ job: _, ...rest }) => rest as BestEffortStatus);
  expect(jobsOf([on("GPU-a", [], older)]).gpus[0]?.bestEffort).toHaveLength(2);
});

test("a job of which nothing has changed stays the same object", () => {
  const gpus = [on("GPU-a", [serve], [process(7), process(8)])];
  const [before, after] = [jobsOf(gpus), jobsOf(gpus)];
  before.all.forEach((job, i) => void expect(after.all[i]).toBe(job));
  before.gpus[0]?.bestEffort.forEach(
    (job, i) => void expect(after.gpus[0]?.bestEffort[i]).toBe(job),
  );
});
