// With a schedule (`prof.step()`) the trace (`prof.export_chrome_trace`, Kineto's JSON) says where
// iterations begin: durations come from all of them, the sequence from the last. Otherwise the file
// is one iteration. It does not say how busy a kernel keeps the GPU, so classes are unknown, nor
// whether shared memory is static, so all counts as dynamic. The profiler makes an iteration some
// per cent longer: `soloNs` corrects it.

import { badProfile } from "../model/errors.ts";
import type { Mark, Step, WorkloadProfile } from "../model/types.ts";
import { type About, gpuOf } from "./about.ts";
import { distinct, type Launch } from "./distinct.ts";
import { readTrace, type Span, type Trace, type Work } from "./torch-trace.ts";

/** Throws a UserError that names file and field of what cannot be used. */
export function importTorch(text: string, about: About): WorkloadProfile {
  const trace = readTrace(text, about.file);
  const { gpu } = gpuOf(about, trace.gpu);
  const spans = trace.iterations.length > 0 ? trace.iterations : [everything];
  const launched = trace.work.filter(
    (work): work is Launched => isLaunch(work) && spans.some((span) => within(span, work.at)),
  );
  if (launched.length === 0) throw badProfile(about.file, "", "it holds no launch.");
  const launches = launched.map(({ does }) => does);
  const { kernels, of } = distinct(launches, gpu);
  const places = new Map<Work, number>(launched.map((work, i) => [work, of[i] ?? 0]));
  const { name, kind, source } = about;
  return {
    version: 1,
    name,
    kind,
    gpu,
    source,
    soloNs: about.soloNs ?? iterationNs(trace.iterations),
    kernels,
    sequence: sequenceOf(trace, spans.at(-1) ?? everything, places),
  };
}

const everything: Span = { begin: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY };
const within = ({ begin, end }: Span, at: number) => at >= begin && at < end;

type Launched = Work & { readonly does: Launch };
const isLaunch = (work: Work): work is Launched => "identity" in work.does;

function iterationNs(iterations: readonly Span[]): number | undefined {
  const [only] = iterations;
  if (!only) return undefined;
  const lengths = iterations
    .slice(1)
    .map(({ begin }, i) => begin - (iterations[i]?.begin ?? begin))
    .sort((a, b) => a - b);
  return Math.round((lengths[lengths.length >> 1] ?? only.end - only.begin) * 1000);
}

function sequenceOf(trace: Trace, span: Span, places: ReadonlyMap<Work, number>): Step[] {
  const waits = trace.waits.filter(({ begin }) => within(span, begin));
  const phases = phasesOf(trace, span);
  const steps: Step[] = [];
  let before: Span = { begin: span.begin, end: span.begin };
  for (const work of trace.work.filter(({ at }) => within(span, at))) {
    for (; phases[0] && phases[0].at <= work.at; phases.shift())
      steps.push({ mark: phases[0].mark });
    if ("copy" in work.does) {
      steps.push(work.does);
      continue;
    }
    const kernel = places.get(work) ?? 0;
    const gapNs = work.call && gapBetween(before, work.call, waits);
    steps.push(gapNs === undefined ? { kernel } : { kernel, gapNs });
    before = work.call ?? before;
  }
  return steps;
}

/** An annotation inside another of the same phase changes nothing. */
function phasesOf(trace: Trace, span: Span): { readonly at: number; readonly mark: Mark }[] {
  const marks = trace.marks.filter(({ at }) => within(span, at));
  return marks.filter(({ mark }, i) => mark !== marks[i - 1]?.mark);
}

/** Calls that may wait for the GPU are left out: the rest is what the CPU needs in any case. */
function gapBetween(before: Span, call: Span, waits: readonly Span[]): number | undefined {
  if (call === before) return 0;
  if (before.end === Number.NEGATIVE_INFINITY) return undefined;
  const waited = waits
    .filter(({ begin, end }) => begin >= before.end && end <= call.begin)
    .reduce((sum, { begin, end }) => sum + end - begin, 0);
  return Math.max(Math.round((call.begin - before.end - waited) * 1000), 0);
}
