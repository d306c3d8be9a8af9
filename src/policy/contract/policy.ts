// The interface of a sharing policy. A policy is a pure function from observations to gate parameters. The agent
// calls it a few times a second. It never decides about a single launch. A policy that learns is two pure functions:
// `remember` makes the next memory from observations and the last memory, which the caller keeps. One policy is in
// force at a time. Parameters that were set by hand override its own (`withOverrides`).
import { errors, type Millis } from "#core";
import {
  accepted,
  oldRuleNames,
  parseRule,
  type RuleName,
  type Rules,
  ruleNames,
  rules,
} from "#protocol";
import type { EngineStep } from "../requests/engine-step.ts";
import type { Pace } from "../requests/pacing.ts";
import type { RequestKind, RequestLimits, RequestSample } from "../requests/requests.ts";

export interface UsualBurst {
  /** Kernels and graphs. Bursts that launched at least as many had nine tenths of the time. */
  readonly launches: number;
  /** How long these bursts took, in the mean. */
  readonly us: number;
}

/** Bursts that are rarer and longer than the usual ones, and launch much more: an engine's steps with a prompt in them. */
export interface RareBursts {
  /** Submissions of a stream. A burst with this many is one of them. */
  readonly afterLaunches: number;
  /** How long that takes in one of them, at most, in the mean. */
  readonly afterUs: number;
}

export interface SeenHigh {
  readonly name: string;
  /** The figures of bursts are about steps, each of several bursts. */
  readonly inSteps?: boolean;
  /** Median burst over the last window in which one ended, in us; undefined if none did for a minute. */
  readonly burstP50Us: number | undefined;
  /** Half of the time in bursts of that window was in bursts at least this long; `burstP50Us` if left out. */
  readonly burstByTimeUs?: number | undefined;
  /** Figures of the latest bursts; undefined if none ended. */
  readonly usualBurst?: UsualBurst | undefined;
  /** undefined if it has none that launches tell. */
  readonly rareBursts?: RareBursts | undefined;
  /** A request or an iteration alone. This and the next two come from its profile, and are undefined without one. */
  readonly soloUs?: number | undefined;
  /** The part of `soloUs` in which a kernel runs. Well below 1, the CPU that launches is the limit. */
  readonly gpuShare?: number | undefined;
  /** It was seen to wait for the GPU in a small part of its bursts only: the CPU that launches is the limit. */
  readonly leavesGaps?: boolean | undefined;
  /** It trains, so its throughput counts, not the length of a burst. */
  readonly training?: boolean | undefined;
}

export interface Observed {
  /** Contexts take turns on the GPU, because there is no MPS. */
  readonly isolated: boolean;
  readonly high: readonly SeenHigh[];
  /** SMs of the GPU. */
  readonly smCount?: number | undefined;
}

/**
 * The objective of a high client. All limits that are stated must hold. A burst lasts from first submission to
 * completion.
 */
export interface Objective {
  /** 99 % of bursts take at most this time. */
  readonly p99Us: number | undefined;
  /** The p99 of bursts is at most this part above the p99 alone: 0.05 is 5 %. */
  readonly slowdown: number | undefined;
  /** As `slowdown`, for half of the bursts. Nobody states it: it is part of the objective by default (gaps.ts). */
  readonly medianSlowdown?: number;
  /** About requests, which the service measures itself. */
  readonly requests?: RequestLimits | undefined;
}

export interface MeteredHigh extends SeenHigh {
  /** Unique: two clients may have one name. */
  readonly id: string;
  /** undefined: it states none, so it is protected as under `strict`. */
  readonly objective: Objective | undefined;
  /** Bursts that ended since the last sample, by bucket of duration; undefined if none did. */
  readonly ended: Uint32Array | undefined;
  /** The same bursts by the time that each waited for the GPU; undefined if that is not measured. */
  readonly waited?: Uint32Array | undefined;
  /** Kernels and graphs that it launched since the last sample. */
  readonly launches?: number | undefined;
  /** Steps since the last sample of an engine with an objective about requests; undefined: they are not seen. */
  readonly steps?: readonly EngineStep[] | undefined;
  /** Requests since the last sample, compared with its objective; undefined while the service does not tell. */
  readonly requests?: RequestSample;
}

/** The driver's counters of a GPU. */
export interface GpuUse {
  /** Part of the SMs' time in which a warp was resident. */
  readonly smActivity: number;
  readonly smClockMHz: number;
  readonly mostSmClockMHz: number;
}

export interface Metered extends Observed {
  readonly high: readonly MeteredHigh[];
}

/** The input of a policy that learns, at each sample. */
export interface Look extends Metered {
  /** Monotonic. */
  readonly nowMs: Millis;
  /** undefined where the driver does not tell all of it. */
  readonly gpu?: GpuUse | undefined;
  /** Part of the SMs that the high clients are forecast to leave; undefined while nothing is forecast. */
  readonly smShare?: number | undefined;
  /** Best-effort work ran since the last sample; undefined if the observations contradict each other. */
  readonly colocated: boolean | undefined;
  /**
   * The best-effort clients whose work ran, or waited for high clients, since the last sample, each by a text of its own; undefined if nobody
   * tells.
   */
  readonly jobs?: readonly string[];
  /**
   * Best-effort work waited for high clients since the last sample. Beside a service that is always active none may run for
   * minutes, and yet its rules are at work.
   */
  readonly held?: boolean;
}

/** impossible: not met even solo. unheard: it is about requests, and the service does not tell how long they take. */
export const objectiveStates = ["learning", "met", "missed", "impossible", "unheard"] as const;
export type ObjectiveState = (typeof objectiveStates)[number];

/** The memory of a policy that learns. Only these fields are shown to people. */
export interface Memory {
  /** 0 is full protection; each level gives best-effort work more. */
  readonly level: number;
  /**
   * The common kind of all high clients: objectives about requests alone, or bursts that leave gaps. Each has its own
   * levels.
   */
  readonly about?: "requests" | "gaps" | undefined;
  /** Beside engines whose steps are seen: how often a slice comes. */
  readonly pace?: Pace | undefined;
  /** Best-effort work is paused until then. */
  readonly pausedUntilMs: number | undefined;
  /** By the id of a high client. */
  readonly clients: ReadonlyMap<
    string,
    {
      readonly state: ObjectiveState;
      readonly reference?: AloneBursts | undefined;
      /** With an objective about requests: the kind with the least headroom. */
      readonly tightest?: RequestKind | undefined;
      /** Steps of the engine may take so many times as long as solo until that kind reaches its limit. At most 1: it needs the whole GPU. */
      readonly mostStretch?: number | undefined;
      /** With an objective about requests: no steps were seen, and concurrent slices need them. */
      readonly stepless?: boolean | undefined;
      /** It states no objective, and has one by default, because it leaves the GPU idle in its bursts. */
      readonly gaps?: boolean;
    }
  >;
}

/** A client's bursts while no best-effort work ran, and the time that they waited for the GPU. */
export interface AloneBursts {
  /** The median burst. */
  readonly p50Us?: number;
  readonly p99Us: number;
  readonly waitedP50Us?: number;
  readonly waitedP99Us: number;
}

export interface Policy {
  readonly name: string;
  /** One line, for `--help`. */
  readonly summary: string;
  /** The clients from which it learns: any high client, those with objectives, or a high job that trains. */
  readonly learnsFrom?: "services" | "objectives" | "trainings";
  /** `memory`: what `remember` of the same policy returned last. */
  rules(seen: Observed, memory?: Memory): Rules;
  /** Only a policy that learns has this. Neither side changes a memory. */
  remember?(look: Look, memory: Memory | undefined): Memory;
}

export type Overrides = Partial<Rules>;

export const withOverrides = (rules: Rules, overrides: Overrides): Rules => ({
  ...rules,
  ...overrides,
});

/**
 * Texts such as "chunkUs=100" or "submission=launch" → overrides; throws a UserError. `note` gets a sentence for each
 * former name of a parameter.
 */
export function parseOverrides(
  texts: readonly string[],
  note: (sentence: string) => void = () => {},
): Overrides {
  return Object.fromEntries(
    texts.map((text) => {
      const [given = "", ...rest] = text.split("=");
      const name = (Object.hasOwn(oldRuleNames, given) && oldRuleNames[given]) || given;
      if (name !== given) note(errors.formerName(`--set ${given}`, name));
      if (!isRule(name)) throw errors.unknownRule(name, ruleNames);
      const value = parseRule(rules[name], rest.join("="));
      if (value === undefined) throw errors.badRule(text, accepted(rules[name]));
      return [name, value];
    }),
  );
}

const isRule = (name: string): name is RuleName => Object.hasOwn(rules, name);
