// Findings of a run, in sentences: which scheduler does best, by how much, which objectives are missed, and what
// limits the best one. All figures are means over seeds.
import type { Figures } from "../model/figures.ts";
import { deviation, mean } from "./summary.ts";

interface Runs {
  readonly scheduler: string;
  readonly seeds: readonly Figures[];
}

const over = ({ seeds }: Runs, of: (figures: Figures) => number): number => mean(seeds.map(of));

export function findings(all: readonly Figures[]): readonly string[] {
  const runs = runsOf(all);
  const working = runs.filter((run) => over(run, ({ starts }) => starts) > 0);
  if (working.length === 0) return ["No scheduler of this run started a training."];
  const baseline = working[0] as Runs;
  const hasServices = all.some(({ services }) => services.length > 0);
  const trainings = best(working, (one) => one.jctMean);
  return [
    ...(hasServices ? [servicesText(working, baseline)] : []),
    trainingsText(working, trainings, baseline),
    ...(hasServices ? [objectivesText(runs), ...rejectedText(runs)] : []),
    limitText(trainings),
    comparisonText(runs, working, baseline),
  ];
}

/** A sentence for each scheduler under which jobs did not end before the simulation did. */
export function unfinished(all: readonly Figures[]): readonly string[] {
  return runsOf(all).flatMap((run) => {
    const [jobs, ended] = [over(run, (one) => one.jobs), over(run, (one) => one.finished)];
    return ended < jobs
      ? [
          `With ${run.scheduler} ${Number((jobs - ended).toFixed(1))} of ${Number(jobs.toFixed(1))} jobs did not end within ${(over(run, (one) => one.makespan) / 3600).toFixed(1)} h: they count up to then, so its JCT and makespan are too small.`,
        ]
      : [];
  });
}

/** Completion times that differ by less than this part count as equal. */
const EQUAL = 0.03;

/**
 * Which scheduler to take: the one that slows requests least among those whose jobs end nearly as soon as the best one's.
 * undefined if none starts a training, or all completion times are too long for a number.
 */
export function verdict(all: readonly Figures[]): string | undefined {
  const jct = (run: Runs) => over(run, (one) => one.jctMean);
  const working = runsOf(all).filter(
    (run) => over(run, ({ starts }) => starts) > 0 && Number.isFinite(jct(run)),
  );
  if (working.length === 0) return undefined;
  const slow = (run: Runs) => over(run, (one) => one.meanSlowdown);
  const soonest = best(working, (one) => one.jctMean);
  const near = working.filter((run) => jct(run) <= (1 + EQUAL) * jct(soonest));
  const chosen = best(near, (one) => one.meanSlowdown);
  const calmest = best(working, (one) => one.meanSlowdown);
  const says = (run: Runs) =>
    `${run.scheduler} (${minutes(jct(run))} a job, requests ${ratio(slow(run))} times as long)`;
  if (working.length === 1) return `Only ${says(chosen)} starts trainings.`;
  if (!all.some(({ services }) => services.length > 0))
    return `Take ${soonest.scheduler}: its jobs complete first, in ${minutes(jct(soonest))} on average.`;
  if (chosen === calmest)
    return `Take ${says(chosen)}: no other slows requests less, and no other completes jobs sooner by more than ${percent(EQUAL)}.`;
  return `Take ${says(chosen)} for trainings. If requests matter more, take ${says(calmest)}, which slows them least.`;
}

const runsOf = (all: readonly Figures[]): readonly Runs[] =>
  [...new Set(all.map(({ scheduler }) => scheduler))].map((scheduler) => ({
    scheduler,
    seeds: all.filter((one) => one.scheduler === scheduler),
  }));

const best = (runs: readonly Runs[], of: (figures: Figures) => number): Runs =>
  runs.reduce((a, b) => (over(b, of) < over(a, of) ? b : a));

const ratio = (value: number): string => value.toFixed(3);
const minutes = (seconds: number): string => `${(seconds / 60).toFixed(1)} min`;
const percent = (share: number): string => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

function servicesText(working: readonly Runs[], baseline: Runs): string {
  const first = best(working, (one) => one.p99Slowdown);
  const says = (run: Runs) =>
    `p99 latency ${ratio(over(run, (one) => one.p99Slowdown))} times that alone, mean latency ${ratio(over(run, (one) => one.meanSlowdown))} times`;
  const compared =
    first === baseline ? "" : `; with the baseline ${baseline.scheduler}: ${says(baseline)}`;
  return `Best for services: ${first.scheduler}, ${says(first)}${compared}.${among(working, first, (one) => one.p99Slowdown)}`;
}

function trainingsText(working: readonly Runs[], first: Runs, baseline: Runs): string {
  const jct = (run: Runs) => over(run, (one) => one.jctMean);
  const compared =
    first === baseline
      ? ""
      : `, ${percent(1 - jct(first) / jct(baseline))} less than with the baseline ${baseline.scheduler} (${minutes(jct(baseline))})`;
  const open = over(first, ({ jobs, finished }) => jobs - finished);
  const unfinished =
    open > 0
      ? ` ${Number(open.toFixed(1))} of ${over(first, ({ jobs }) => jobs)} jobs did not end; they count up to the end of the simulation.`
      : "";
  return `Best for trainings: ${first.scheduler}, a job completes in ${minutes(jct(first))} on average${compared}.${among(working, first, (one) => one.jctMean)}${unfinished}`;
}

/** Names schedulers that are so close that other seeds could change the order. */
function among(runs: readonly Runs[], first: Runs, of: (figures: Figures) => number): string {
  const spread = deviation(first.seeds.map(of));
  const close = runs.filter(
    (run) =>
      run !== first && over(run, of) - over(first, of) <= (first.seeds.length > 1 ? spread : 0),
  );
  if (close.length === 0) return "";
  const names = close.map(({ scheduler }) => scheduler).join(", ");
  return first.seeds.length > 1
    ? ` Not further from it than its deviation over seeds: ${names}.`
    : ` As good: ${names}.`;
}

function objectivesText(runs: readonly Runs[]): string {
  const missed = runs.flatMap((run) => {
    const services = run.seeds[0]?.services ?? [];
    const slow = services.flatMap(({ name }, i) => {
      const value = over(run, (one) => one.services[i]?.meanSlowdown ?? 1);
      return missesObjective(value) ? [`${name} ${ratio(value)}`] : [];
    });
    return slow.length > 0
      ? [`${run.scheduler} ${slow.length} of ${services.length} (${slow.join(", ")})`]
      : [];
  });
  const text = `Services that miss their objective, a mean latency of at most ${ACCEPTABLE} times that alone`;
  if (missed.length === 0) return `${text}: none, with any scheduler.`;
  const rest = missed.length < runs.length ? "; none with the others" : "";
  return `${text}: ${missed.join("; ")}${rest}.`;
}

/** Slowdown factor of the mean latency that counts as acceptable. An assumption, because scenarios have no objectives. */
const ACCEPTABLE = 1.15;

export const missesObjective = (meanSlowdown: number): boolean => meanSlowdown > ACCEPTABLE;

function rejectedText(runs: readonly Runs[]): string[] {
  const rejected = runs
    .map((run) => ({ run, share: over(run, ({ turnedAway }) => turnedAway) }))
    .filter(({ share }) => share > 0)
    .map(({ run, share }) => `${run.scheduler} ${(100 * share).toPrecision(2)} %`);
  return rejected.length === 0
    ? []
    : [`Requests rejected because a GPU was overloaded: ${rejected.join(", ")}.`];
}

/** Below this part of a completion time, what is lost hardly matters. */
const LITTLE = 0.1;

/** A completion time is work that the job has alone too, what sharing and restarts add, and waiting. */
function limitText(run: Runs): string {
  const jct = over(run, (one) => one.jctMean);
  const waiting = over(run, (one) => one.waitingMean);
  const added = over(run, (one) => (one.jctMean - one.waitingMean) * (1 - one.oversold));
  const parts = `Of ${minutes(jct)} with ${run.scheduler}, ${minutes(jct - waiting - added)} are the job's own work, ${minutes(added)} are added by sharing and restarts, ${minutes(waiting)} are waiting`;
  if (waiting + added < LITTLE * jct)
    return `${parts}: little is lost, the work itself limits the result.`;
  return waiting > added
    ? `${parts}: too few places for jobs limit the result.`
    : `${parts}: slower work on shared GPUs limits the result.`;
}

function comparisonText(runs: readonly Runs[], working: readonly Runs[], baseline: Runs): string {
  const idle = runs.filter((run) => !working.includes(run)).map(({ scheduler }) => scheduler);
  const without =
    idle.length > 0 ? ` ${idle.join(", ")} starts no training and is not compared.` : "";
  const seeds =
    baseline.seeds.length > 1
      ? `Figures are means over ${baseline.seeds.length} seeds`
      : "Figures are of one seed, so nothing is known of how much they vary";
  const named =
    working.length > 1
      ? `; the baseline is ${baseline.scheduler}, the first scheduler of the run that starts trainings`
      : "";
  return `${seeds}${named}.${without}`;
}
