// The socket a sharing policy plugs into. A policy is a pure function from what was seen to the gate's
// rule table; the agent asks it a few times a second and it never decides about a single launch. One that
// learns is two pure functions: what it remembers follows from what it saw and what it remembered, and
// whoever asks keeps that for it. One policy is in force at a time; what the person at the command line
// set by hand goes over its rules last (`withOverrides`).
import { errors } from "#core";
import { accepted, parseRule, type RuleName, type Rules, ruleNames, rules } from "#protocol";

export interface SeenHigh {
  readonly name: string;
  /** Median burst over the last window, in microseconds; undefined when there was none. */
  readonly burstP50Us: number | undefined;
  /** From its profile: a request, or an iteration, alone. Left out where there is no profile, as below. */
  readonly soloUs?: number | undefined;
  /** From its profile: the part of that time in which a kernel runs. Well below 1 it is bound by launching. */
  readonly gpuShare?: number | undefined;
  /** It trains: no request waits for anybody, throughput is what counts. */
  readonly training?: boolean | undefined;
}

export interface Observed {
  /** Contexts take turns: there is no MPS. */
  readonly isolated: boolean;
  readonly high: readonly SeenHigh[];
  /** Of the GPU. */
  readonly smCount?: number | undefined;
}

/** What a high client asks for; both may be given. Of bursts: begin of submission to completion observed. */
export interface Objective {
  /** 99 % of bursts take no longer. */
  readonly p99Us: number | undefined;
  /** The p99 of bursts is at most this part above what it is alone: 0.05 is 5 %. */
  readonly slowdown: number | undefined;
}

export interface MeteredHigh extends SeenHigh {
  /** Tells clients of one name apart. */
  readonly id: string;
  /** undefined: none, so it is protected as under `strict`. */
  readonly objective: Objective | undefined;
  /** Bursts that ended since the last look, by bucket of duration; undefined when none did. */
  readonly ended: Uint32Array | undefined;
  /** The same bursts by how long each waited for the GPU; undefined where nobody reports that. */
  readonly waited?: Uint32Array | undefined;
  /** Kernels and graphs that it launched since the last look. */
  readonly launches?: number | undefined;
}

/** What a policy that learns is shown, once at each look. */
export interface Look extends Observed {
  readonly high: readonly MeteredHigh[];
  /** Monotonic. */
  readonly nowMs: number;
  /** Best-effort work ran since the last look; undefined where what is known of that contradicts itself. */
  readonly colocated: boolean | undefined;
}

/** Impossible: not met even alone. */
export const objectiveStates = ["learning", "met", "missed", "impossible"] as const;
export type ObjectiveState = (typeof objectiveStates)[number];

/** What a policy that learns keeps: its own business, but for these, which people are told. */
export interface Memory {
  /** How far it has gone from full protection; 0 is that. */
  readonly level: number;
  /** Best-effort work stands still until then. */
  readonly pausedUntilMs: number | undefined;
  /** By the id of a high client. */
  readonly clients: ReadonlyMap<
    string,
    { readonly state: ObjectiveState; readonly reference?: AloneBursts | undefined }
  >;
}

/** The p99 of a client's bursts while no best-effort work ran: how long they lasted, and waited for the GPU. */
export interface AloneBursts {
  readonly p99Us: number;
  readonly waitedP99Us: number;
}

export interface Policy {
  readonly name: string;
  /** One line, for `--help`. */
  readonly summary: string;
  /** Why it runs on the modelled GPU only. */
  readonly onlyModelled?: string;
  /** What there must be for it to learn from: objectives, or a high job that trains. */
  readonly learnsFrom?: "objectives" | "trainings";
  /** `memory`: what `remember` of the same policy returned last. */
  rules(seen: Observed, memory?: Memory): Rules;
  /** Only where a policy learns. What it is given is not changed, and neither may its keeper. */
  remember?(look: Look, memory: Memory | undefined): Memory;
}

export type Overrides = Partial<Rules>;

export const withOverrides = (rules: Rules, overrides: Overrides): Rules => ({
  ...rules,
  ...overrides,
});

/** Texts such as "chunkUs=100" or "submission=launch" → overrides; throws a UserError. */
export function parseOverrides(texts: readonly string[]): Overrides {
  return Object.fromEntries(
    texts.map((text) => {
      const [name = "", ...rest] = text.split("=");
      if (!isRule(name)) throw errors.unknownRule(name, ruleNames);
      const value = parseRule(rules[name], rest.join("="));
      if (value === undefined) throw errors.badRule(text, accepted(rules[name]));
      return [name, value];
    }),
  );
}

const isRule = (name: string): name is RuleName => Object.hasOwn(rules, name);
