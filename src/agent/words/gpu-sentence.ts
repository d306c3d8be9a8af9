import { micros, percent } from "#core";
import type { BestEffortStatus, GpuStatus, HighStatus } from "../status/status.ts";
import { requestGoals, stateInWords } from "./sentences.ts";
import { unitFigures } from "./unit-figures.ts";

const MAX_NAMED = 3; // limits the names of each class; the others are counted
const SAME = 0.005; // less is no difference

export function gpuSentence({ high, bestEffort }: GpuStatus): string {
  if (high.length + bestEffort.length === 0) return "No client is on this GPU.";
  const urgent = high.toSorted((a, b) => Number(isMissed(b)) - Number(isMissed(a)));
  const services = named(urgent, serviceClause, "service", "services");
  const trainings = named(bestEffort, keptClause, "best-effort client", "best-effort clients");
  const [only] = high.length > 0 ? high : bestEffort;
  const alone = high.length === 0 || bestEffort.length === 0;
  const rest =
    alone && only ? [`no ${high.length > 0 ? "best-effort" : "high"} client is here`] : [];
  return `${[...services, ...trainings, ...rest].join("; ")}.`;
}

export const isMissed = ({ objective }: HighStatus): boolean =>
  objective?.state === "missed" || objective?.state === "impossible";

function named<C>(
  clients: readonly C[],
  clauseOf: (client: C) => string,
  one: string,
  several: string,
): readonly string[] {
  const more = clients.length - MAX_NAMED;
  const kind = more === 1 ? one : several;
  const clauses = clients.slice(0, MAX_NAMED).map(clauseOf);
  return [...clauses, ...(more > 0 ? [`${more} more ${kind}`] : [])];
}

/** "10 %", "5.00 ms p99", "ttft 200 ms p99" */
export const goalsOf = (client: HighStatus): readonly string[] => [
  ...(client.sloSlowdown === undefined ? [] : [percent(client.sloSlowdown)]),
  ...(client.sloP99Us === undefined ? [] : [`${micros(client.sloP99Us)} p99`]),
  ...requestGoals(client),
];

/** "serve is 4.0 % slower than solo, objective 10 %: met" */
export function serviceClause(client: HighStatus): string {
  const goals = goalsOf(client);
  if (goals.length === 0) return fares(client);
  return `${fares(client)}, objective ${goals.join(" and ")}: ${stateText(client)}`;
}

/** An objective is judged by more bursts than those of the last seconds. */
function stateText({ objective, slowdown = 0, sloSlowdown = Infinity }: HighStatus): string {
  if (!objective) return "this policy does not act on it";
  const now = objective.state === "met" && slowdown > sloSlowdown + SAME;
  return `${stateInWords[objective.state]}${now ? " on the whole, not in the last 4 s" : ""}`;
}

function fares(client: HighStatus): string {
  const { name, slowdown, sloP99Us, unit } = client;
  const { p99Us } = unitFigures(client);
  if (p99Us === undefined) return `${name} has had no request in the last 4 s`;
  const p99 = `has a p99 of ${micros(p99Us)}${unit === "step" ? " a step" : ""}`;
  if (slowdown === undefined)
    return `${name} ${p99}; its slowdown is not known${sloP99Us === undefined ? " yet" : ""}`;
  return slowdown > SAME
    ? `${name} is ${percent(slowdown)} slower than solo`
    : `${name} is as fast as solo`;
}

const keptClause = ({ name, keptShare }: BestEffortStatus): string =>
  keptShare === undefined
    ? `what ${name} retains is not known yet`
    : `${name} retains ${percent(keptShare)}`;
