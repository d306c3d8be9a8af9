// Runs one window: the processes of an arrangement work for some seconds. What they report of that time is kept,
// except for the settling at its start.

import { setTimeout as pause } from "node:timers/promises";
import type { Part } from "#load";
import type { JobProcess } from "#measure";
import type { Rules } from "#protocol";
import type { GpuFigures } from "../scenario/result.ts";
import type { Answer, Control } from "./control.ts";
import type { GpuWatch } from "./gpu-watch.ts";

/** A job's part in windows: its process, and the name the process answers to for it. */
export interface Member {
  readonly process: JobProcess;
  readonly name: string;
}

interface Cast {
  readonly high: Member | undefined;
  readonly bestEffort: readonly Member[];
}

export interface WindowPlan {
  readonly cast: Cast;
  /** The arrivals of the high job; undefined for a closed loop. */
  readonly arrivals: string | undefined;
  readonly announceUs: number;
  readonly seconds: number;
  /** The agent's rules now; undefined without an agent. */
  rules?(): Rules | undefined;
}

/** Times of one request in ns. */
export interface Request {
  readonly arrivalNs: number;
  readonly latencyNs: number;
  readonly serviceNs: number;
  /** From the last submission to done, if the service tells. */
  readonly waitedNs?: number | undefined;
  /** From the arrival to the first token, if the service makes its answers token by token. */
  readonly firstNs?: number | undefined;
  /** How many tokens it made then. */
  readonly tokens?: number | undefined;
}

export interface Window {
  readonly startNs: number;
  readonly endNs: number;
  /** When the settling ended. What was before does not count. */
  readonly settledNs: number;
  readonly requests: readonly Request[];
  /** For each best-effort job, when its iterations were done. */
  readonly doneNs: readonly (readonly number[])[];
  /**
   * For each best-effort job, iterations from `settledNs` to `endNs`, if more than their ends is known; else an iteration
   * is taken to advance evenly.
   */
  readonly iterations?: readonly number[] | undefined;
  readonly gpu: GpuFigures | undefined;
  /** The rules in force when the window ended; undefined without an agent. */
  readonly rules?: Rules | undefined;
}

/** Best-effort work runs for this long before requests begin. */
export const LEAD_S = 0.6;
export const SETTLE_S = 0.4;
/** The time that answering may take, in addition to a multiple of the window. */
const PATIENCE_S = 60;

const now = () => Number(process.hrtime.bigint());

/** Throws JobFailed if a job of the window dies or does not answer. */
export async function runWindow(
  plan: WindowPlan,
  control: Control,
  watch: GpuWatch,
): Promise<Window> {
  const { high, bestEffort } = plan.cast;
  const startNs = Math.round(now() + LEAD_S * 1e9);
  const endNs = Math.round(startNs + plan.seconds * 1e9);
  const settledNs = Math.round(startNs + Math.min(SETTLE_S, plan.seconds / 3) * 1e9);
  const part: Part = {
    ...(plan.arrivals === undefined ? {} : { arrivals: plan.arrivals }),
    ...(plan.announceUs === 0 ? {} : { announce_us: plan.announceUs }),
  };
  const members = [...(high ? [high] : []), ...bestEffort];
  const parts = members.map(({ name }) => [name, name === high?.name ? part : {}] as const);
  const id = control.begin(Object.fromEntries(parts), startNs, plan.seconds);
  const answerOf = ({ process, name }: Member) =>
    process.until(() => control.answer(name, id), PATIENCE_S + 3 * plan.seconds, "done");

  await pause((settledNs - now()) / 1e6);
  const seen = watch.begin();
  await pause((endNs - now()) / 1e6);
  const gpu = seen?.end();
  const rules = plan.rules?.();
  // An overloaded open loop serves all requests that have arrived, beside best-effort work.
  let requests: readonly Request[] = [];
  if (high && plan.arrivals !== undefined) requests = openRequests(await answerOf(high));
  control.idle();
  if (high && plan.arrivals === undefined) requests = closedRequests(await answerOf(high));
  const doneNs: (readonly number[])[] = [];
  for (const member of bestEffort) doneNs.push((await answerOf(member)).done_ns ?? []);
  const counts = ({ arrivalNs }: Request) => arrivalNs >= settledNs && arrivalNs < endNs;
  return { startNs, endNs, settledNs, requests: requests.filter(counts), doneNs, gpu, rules };
}

function openRequests({
  arrival_ns = [],
  latency_ns = [],
  service_ns = [],
  waited_ns = [],
  first_ns = [],
  tokens = [],
}: Answer): Request[] {
  return arrival_ns.map((arrivalNs, i) => ({
    arrivalNs,
    latencyNs: latency_ns[i] ?? Number.NaN,
    serviceNs: service_ns[i] ?? Number.NaN,
    waitedNs: waited_ns[i],
    firstNs: first_ns[i],
    tokens: tokens[i],
  }));
}

/** A closed loop's request lasts from one completion to the next. */
function closedRequests({ done_ns = [] }: Answer): Request[] {
  return done_ns.slice(1).map((done, i) => {
    const from = done_ns[i] ?? done;
    return { arrivalNs: from, latencyNs: done - from, serviceNs: done - from };
  });
}
