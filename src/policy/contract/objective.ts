// p99=TIME and slowdown=PERCENT are about bursts, KIND.QUANTILE=TIME (ttft.p99) is about requests.
import { errors, parseDuration, UserError, usage } from "#core";
import {
  type RequestObjective,
  requestKinds,
  requestQuantiles,
  statedIn,
} from "../requests/requests.ts";
import type { Objective } from "./policy.ts";

const grammar = `${requestKinds.join("|")}.${requestQuantiles.join("|")}`;

/** Throws a UserError, which names the `source` of the texts. */
export function parseObjective(texts: readonly string[], source = "--slo"): Objective {
  let objective: Objective = { p99Us: undefined, slowdown: undefined };
  const stated = new Set<string>();
  for (const text of texts) {
    const { subject, goal } = partsOf(text);
    const requests = requestSubject(subject);
    const read = requests
      ? (was: Objective) => ({
          ...was,
          requests: { ...was.requests, [requests.kind]: { ...requests, limitUs: time(goal) } },
        })
      : readers.get(subject);
    if (!read)
      throw usage(
        `${source}: "${text}" is neither p99=TIME nor slowdown=PERCENT, nor ${grammar}=TIME.`,
      );
    const about = requests?.kind ?? subject;
    if (stated.has(about)) throw usage(`${source}: ${about} is stated twice.`, "Leave one out.");
    stated.add(about);
    const was = objective;
    objective = named(`${source} ${text}`, () => read(was, goal));
  }
  return objective;
}

export function parseRequestObjective(text: string, source = "--slo"): RequestObjective {
  const { subject, goal } = partsOf(text);
  const requests = requestSubject(subject);
  if (!requests)
    throw usage(
      `${source}: "${text}" is no objective for LLM requests.`,
      `Write ${grammar}=TIME, such as ttft.p99=200ms or tpot.mean=50ms.`,
    );
  return { ...requests, limitUs: named(`${source} ${text}`, () => time(goal)) };
}

export function sameObjective(one: Objective | undefined, other: Objective | undefined): boolean {
  return one === other || objectiveTexts(one).join() === objectiveTexts(other).join();
}

export function objectiveTexts(objective: Partial<Objective> = {}): readonly string[] {
  const { p99Us, slowdown, requests = {} } = objective;
  return [
    ...(p99Us === undefined ? [] : [`p99=${timeText(p99Us)}`]),
    // A client publishes thousandths.
    ...(slowdown === undefined ? [] : [`slowdown=${Math.round(1000 * slowdown) / 10}%`]),
    ...statedIn(requests).map(
      ({ kind, quantile, limitUs }) => `${kind}.${quantile}=${timeText(limitUs)}`,
    ),
  ];
}

function timeText(us: number): string {
  if (us % 1e6 === 0) return `${us / 1e6}s`;
  return us % 1e3 === 0 ? `${us / 1e3}ms` : `${us}us`;
}

function partsOf(text: string) {
  const [subject = "", goal = ""] = text.split(/=(.*)/s);
  return { subject, goal };
}

function requestSubject(subject: string): Omit<RequestObjective, "limitUs"> | undefined {
  const [before, after, ...more] = subject.split(".");
  const kind = requestKinds.find((known) => known === before);
  const quantile = requestQuantiles.find((known) => known === after);
  return kind && quantile && more.length === 0 ? { kind, quantile } : undefined;
}

const readers = new Map<string, (was: Objective, goal: string) => Objective>([
  ["p99", (was, goal) => ({ ...was, p99Us: time(goal) })],
  ["slowdown", (was, goal) => ({ ...was, slowdown: part(goal) })],
]);

function named<T>(option: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof UserError ? errors.badOption(option, error) : error;
  }
}

// A client publishes whole microseconds and thousandths, and 0 for no objective.
const MAX_TIME_US = 3600e6;
const MAX_SLOWDOWN = 100;

function time(text: string): number {
  const us = parseDuration(text);
  if (us >= 1 && us <= MAX_TIME_US) return us;
  throw errors.badQuantity(text, `from 1us to ${MAX_TIME_US / 1e6}s`);
}

function part(text: string): number {
  const match = /^(\d+(?:\.\d+)?)%$/.exec(text);
  if (!match) throw errors.badQuantity(text, "a percentage such as 5%");
  const slowdown = Number(match[1]) / 100;
  if (slowdown >= 0.001 && slowdown <= MAX_SLOWDOWN) return slowdown;
  throw errors.badQuantity(text, `from 0.1% to ${MAX_SLOWDOWN * 100}%`);
}
