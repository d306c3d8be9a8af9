import type { LearnedPair } from "#predict";
import type { PairRow } from "../../labels/pair.ts";
import { requestsSlowed } from "../moves/requests-slowed.ts";
import type { WorkloadDemands } from "../worth/demands.ts";

/** The newest pairs are learned from: training takes time in the square of their number. */
const MAX_PAIRS = 300;
/** Older measurements are of other versions of programs. */
const MAX_AGE_MS = 28 * 24 * 3_600_000;
const HARM = "harm";

export interface ModelPairs {
  readonly retained: readonly LearnedPair[];
  /** Values are natural logarithms of slowdown factors. */
  readonly slowdown: readonly LearnedPair[];
  /** GPU time of a job's kernels a second while it has the GPU by itself, by workload. */
  readonly busy: ReadonlyMap<string, number>;
  readonly usualBusy: number;
}

/** Rows of older arrangements or with further pods do not count. `wallNow`: ms since 1970. */
export function pairsByModel(
  rows: Iterable<PairRow>,
  mostSlowdown: number,
  wallNow: number,
  demands?: Pick<WorkloadDemands, "busyOf">,
): ReadonlyMap<string, ModelPairs> {
  const byModel = new Map<string, PairRow[]>();
  for (const row of rows) {
    if (row.measured.others > 0 || wallNow - Date.parse(row.at) > MAX_AGE_MS) continue;
    const { model } = row.measured;
    const known = byModel.get(model);
    if (known) known.push(row);
    else byModel.set(model, [row]);
  }
  return new Map(
    [...byModel].map(([model, all]) => {
      const newest = all.sort((one, other) => other.at.localeCompare(one.at));
      const arrangement = newest[0] && arrangementOf(newest[0]);
      return [
        model,
        pairsOf(
          newest.filter((row) => arrangementOf(row) === arrangement),
          mostSlowdown,
          (workload) => demands?.busyOf(workload, model),
        ),
      ];
    }),
  );
}

const arrangementOf = ({ measured: { policy, mode } }: PairRow): string => `${policy}-${mode}`;

function pairsOf(
  rows: readonly PairRow[],
  mostSlowdown: number,
  observedBusy: (workload: string) => number | undefined,
): ModelPairs {
  const busy = new Map<string, number>();
  for (const { job, measured } of rows)
    if (measured.soloBusy !== undefined && !busy.has(job.workload))
      busy.set(job.workload, Math.min(1, measured.soloBusy));
  for (const { job } of rows) {
    const observed = busy.has(job.workload) ? undefined : observedBusy(job.workload);
    if (observed !== undefined) busy.set(job.workload, observed);
  }
  const sorted = [...busy.values()].sort((one, other) => one - other);
  const usualBusy = sorted[Math.floor(sorted.length / 2)] ?? 1;
  const groups = new Map<string, PairRow[]>();
  for (const row of rows) {
    const key = `${row.service.workload}\n${row.job.workload}`;
    const group = groups.get(key);
    if (group) group.push(row);
    else if (groups.size < MAX_PAIRS) groups.set(key, [row]);
  }
  const of = (
    figureOf: (row: PairRow) => number | undefined,
    scale: (figure: number) => number,
  ): readonly LearnedPair[] =>
    [...groups.values()].flatMap((group) => pairOf(group, { figureOf, scale }, busy, usualBusy));
  return {
    ...{ busy, usualBusy },
    retained: of(
      ({ measured }) => (measured.by === "work" ? measured.retained : undefined),
      (retained) => retained,
    ),
    slowdown: of((row) => slowdownOf(row, mostSlowdown), Math.log),
  };
}

interface Figure {
  figureOf(row: PairRow): number | undefined;
  /** Forecasts are learned on this scale. */
  scale(figure: number): number;
}

/** The newest row of a group is first. */
function pairOf(
  group: readonly PairRow[],
  { figureOf, scale }: Figure,
  busy: ReadonlyMap<string, number>,
  usualBusy: number,
): readonly LearnedPair[] {
  let [seconds, value, load] = [0, 0, 0];
  let harmed = 0;
  const again: number[] = [];
  for (const row of group.toReversed()) {
    const one = figureOf(row);
    const weight = row.measured.seconds;
    if (one === undefined || !(weight > 0)) continue;
    if (seconds > 0 && row.ended !== HARM) again.push(scale(one) - scale(value / seconds));
    seconds += weight;
    value += weight * one;
    load += weight * row.measured.load;
    if (row.ended === HARM) harmed = Math.max(harmed, one);
  }
  const [{ service, job } = { service: undefined, job: undefined }] = group;
  if (seconds === 0 || service === undefined || job === undefined) return [];
  return [
    {
      ...{ service: service.workload, job: job.workload, seconds, load: load / seconds },
      soloBusy: busy.get(job.workload) ?? usualBusy,
      // Harm is over soon, and pairs that are parted soon have little time.
      value: scale(Math.max(value / seconds, harmed)),
      isCensored: harmed > 0,
      again,
    },
  ];
}

/** At equal load; where the pair was parted for harm that its median does not explain, the policy's limit at least. */
function slowdownOf({ measured, ended }: PairRow, mostSlowdown: number): number | undefined {
  const { p50Us, soloP50Us } = measured.service ?? {};
  const shown = p50Us !== undefined && soloP50Us ? Math.max(1, p50Us / soloP50Us) : undefined;
  const isExplained = requestsSlowed({ pair: measured }) > mostSlowdown;
  return ended === HARM && !isExplained ? Math.max(mostSlowdown, shown ?? 1) : shown;
}
