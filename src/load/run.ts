import { sfc32, UserError } from "#core";
import { scheduleArrivals } from "./arrivals/arrivals.ts";
import { followPhases, type PhaseContext, ready } from "./control.ts";
import type { Plan, Result, Served, Work } from "./plan.ts";
import { prepare, type Surroundings } from "./prepare.ts";
import { closedLoop, openLoop } from "./serve.ts";
import { summarise } from "./summary.ts";

export interface Run {
  readonly result: Result;
  readonly served: readonly Served[];
}

export async function runLoad(plan: Plan, around: Surroundings): Promise<Run> {
  const { clock, stop, readText, say } = around;
  const { arrivals } = plan;
  const schedule =
    arrivals.kind === "closed"
      ? undefined
      : scheduleArrivals(arrivals, plan.seconds, sfc32(plan.seed), readText);
  const prepared = await prepare(plan, around);
  const { server } = prepared;
  const seconds = schedule?.seconds ?? plan.seconds;
  say(`serving for ${Math.round(seconds * 100) / 100} s`);
  const served = schedule
    ? await openLoop(server, clock, { begin: clock.now(), offsets: schedule.offsets }, stop)
    : await closedLoop(server, clock, plan.depth, plan.seconds, stop);
  const result: Result = {
    version: 1,
    gpu: prepared.gpu,
    shape: plan.shape,
    ...summarise(served),
    calibration: prepared.calibration,
    intact: prepared.intact(),
    checksum: prepared.checksum(),
  };
  prepared.close();
  return { result, served };
}

/** Throws a UserError if a kernel was lost or doubled. */
export async function runJob(
  work: Work,
  around: Surroundings,
  control: Pick<PhaseContext, "name" | "files" | "announcer">,
): Promise<void> {
  const context: PhaseContext = { ...around, ...control, depth: work.depth };
  const prepared = await prepare(work, around);
  const { shape, kernels, kernelUs, graph } = work;
  ready(context, {
    label: `load, ${shape}, ${kernels} x ${kernelUs} us${graph ? ", graph" : ""}`,
    gpu: prepared.gpu,
    shape,
    kernels,
    calibration: prepared.calibration,
  });
  await followPhases(prepared.server, context);
  if (!prepared.intact())
    throw new UserError("NOT_INTACT", "Not every kernel took place exactly once.");
  prepared.close();
}
