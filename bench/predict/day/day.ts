// Does learning from the pairs of a cluster pay? A day of a cluster of which nothing is known, by the manager's own code: with what
// it learns, with the turn bound alone, and with the truth (oracle).
import { calibrationOf, readObjects } from "#evaluation";
import { type DayResult, day, GPUS, type HourFigures, type Manager, workloads } from "./cluster.ts";
import { measuredPairs, truthOf } from "./truth.ts";

const SEEDS = 20;
/** Regret counts from this hour on. */
const LEARNED_HOUR = 4;
/** Two-sided 95 % quantile of Student's t with SEEDS - 1 degrees of freedom. */
const T = 2.093;
const managers = ["oracle", "learning", "turn bound"] as const satisfies Manager[];
/** Hours of a day, from and to. */
const spans = { "0 to 4": [0, LEARNED_HOUR], "4 to 24": [LEARNED_HOUR, 24], day: [0, 24] } as const;

type Days = Readonly<Record<Manager, DayResult>>;

export function simulatedDay(say: (line: string) => void) {
  const measured = measuredPairs();
  const days = Array.from({ length: SEEDS }, (_, i): Days => {
    const truth = truthOf(i + 1, workloads, measured);
    const [oracle, learning, bound] = managers.map((manager) => day(truth, manager, i + 1));
    if (!oracle || !learning || !bound) throw new Error("a manager is missing");
    say(`seed ${i + 1} of ${SEEDS}`);
    return { oracle, learning, "turn bound": bound };
  });
  return {
    ...{ seeds: SEEDS, gpus: GPUS, ...workloads, measuredPairs: measured.size },
    ...figuresOf(days),
  };
}

function figuresOf(days: readonly Days[]) {
  const over = (manager: Manager) => days.map((one) => one[manager].overSeconds);
  return {
    regret: Object.fromEntries(
      (["learning", "turn bound"] as const).map((manager) => [manager, regretOf(days, manager)]),
    ),
    servicesOver: {
      /** Services of all seeds that were over their limit for longer with learning than with the turn bound. */
      longer: count(over("learning"), over("turn bound"), (a, b) => a > b),
      shorter: count(over("learning"), over("turn bound"), (a, b) => a < b),
      hours: Object.fromEntries(
        managers.map((manager) => [manager, rounded(sumOf(over(manager).flat()) / 3600)]),
      ),
      /** Mean over seeds of seconds less per service with learning, with the half of its 95 % interval. */
      secondsLess: interval(
        days.map(
          (one) =>
            (sumOf(one["turn bound"].overSeconds) - sumOf(one.learning.overSeconds)) /
            workloads.services,
        ),
      ),
    },
    explored: {
      most: Math.max(...days.map(({ learning }) => learning.explored / learning.matches)),
      matches: sumOf(days.map(({ learning }) => learning.matches)),
      explorations: sumOf(days.map(({ learning }) => learning.explored)),
    },
    harmed: Object.fromEntries(
      managers.map((manager) => [
        manager,
        {
          pairs: sumOf(days.map((one) => one[manager].harmed)),
          again: sumOf(days.map((one) => one[manager].harmedAgain)),
        },
      ]),
    ),
    bounds: coverageOf(days),
    decidesAtTheEnd: countBy(days.map(({ learning }) => learning.by)),
    bySeed: days.map((one) => ({
      regret: rounded(regret(one, "learning", spans["4 to 24"], "worth")),
      ofTurnBound: rounded(regret(one, "turn bound", spans["4 to 24"], "worth")),
      overSeconds: one.learning.overSeconds.map(Math.round),
      ofTurnBoundOverSeconds: one["turn bound"].overSeconds.map(Math.round),
    })),
  };
}

/** How often what was measured was within the bounds of the forecasts, over the pairs of all days. */
function coverageOf(days: readonly Days[]) {
  const pairs = days.flatMap(({ learning }, i) =>
    learning.rows.map((row) => ({ ...row, pairing: `${i} ${row.pairing}` })),
  );
  const report = { apiVersion: "v1", kind: "SharingReport", status: { pairs } };
  const { retained, slowdown } = calibrationOf(readObjects(JSON.stringify(report), "").pairs);
  return { retained: retained.all, slowdown: slowdown?.all };
}

type Span = (typeof spans)[keyof typeof spans];

/** `worth`: retained, less what requests pay as the decision weighs it. `net`: retained less `cost`. */
type Reward = "worth" | "net" | "retained";

const rewardOf = ({ worth, retained, cost }: HourFigures, reward: Reward): number =>
  ({ worth, retained, net: retained - cost })[reward];

const totalOf = ({ hours }: DayResult, [from, to]: Span, reward: Reward): number =>
  sumOf(hours.slice(from, to).map((hour) => rewardOf(hour, reward)));

const regret = (days: Days, manager: Manager, span: Span, reward: Reward): number =>
  1 - totalOf(days[manager], span, reward) / totalOf(days.oracle, span, reward);

const regretOf = (all: readonly Days[], manager: Manager) =>
  Object.fromEntries(
    Object.entries(spans).map(([name, span]) => [
      name,
      Object.fromEntries(
        (["worth", "net", "retained"] as const).map((reward) => [
          reward,
          interval(all.map((days) => regret(days, manager, span, reward))),
        ]),
      ),
    ]),
  );

/** Mean over seeds, and the bounds of its 95 % interval. */
function interval(values: readonly number[]) {
  const mean = sumOf(values) / values.length;
  const variance = sumOf(values.map((one) => (one - mean) ** 2)) / (values.length - 1);
  const half = T * Math.sqrt(variance / values.length);
  return { mean: rounded(mean), low: rounded(mean - half), high: rounded(mean + half) };
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0);
const rounded = (value: number): number => Number(value.toFixed(4));

function count(
  one: readonly (readonly number[])[],
  other: readonly (readonly number[])[],
  is: (a: number, b: number) => boolean,
): number {
  return sumOf(one.map((all, i) => all.filter((a, k) => is(a, other[i]?.[k] ?? 0)).length));
}

const countBy = (all: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...new Set(all)].sort().map((name) => [name, all.filter((one) => one === name).length]),
  );
