// A policy is a pure function from observations to gate parameters, called a few times a second; it
// never decides about a single launch. One that learns also has `remember`.
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
  readonly launches: number;
  readonly us: number;
}

/** An engine's steps with a prompt are rarer and longer, and launch much more. */
export interface RareBursts {
  readonly afterLaunches: number;
  readonly afterUs: number;
}

export interface SeenHigh {
  readonly name: string;
  readonly inSteps?: boolean;
  readonly burstP50Us: number | undefined; // undefined after a minute without bursts
  /** Half of the time in bursts was in bursts at least this long. */
  readonly burstByTimeUs?: number | undefined;
  readonly usualBurst?: UsualBurst | undefined;
  readonly rareBursts?: RareBursts | undefined;
  readonly soloUs?: number | undefined;
  readonly gpuShare?: number | undefined;
  readonly leavesGaps?: boolean | undefined; // it waits for the GPU in a small part of its bursts
  readonly training?: boolean | undefined;
}

export interface Observed {
  readonly isolated: boolean; // contexts take turns, because there is no MPS
  readonly high: readonly SeenHigh[];
  readonly smCount?: number | undefined;
}

/** All stated limits must hold. */
export interface Objective {
  readonly p99Us: number | undefined; // 99 % of bursts take at most this
  readonly slowdown: number | undefined; // 0.05: the p99 of bursts may be 5 % above the p99 alone
  readonly medianSlowdown?: number; // only the default has it (gaps.ts)
  readonly requests?: RequestLimits | undefined;
}

export interface MeteredHigh extends SeenHigh {
  readonly id: string; // two clients may have one name
  readonly objective: Objective | undefined; // undefined: protected as under `strict`
  readonly ended: Uint32Array | undefined; // since the last sample, by bucket
  readonly waited?: Uint32Array | undefined; // the same bursts, by time waited
  readonly launches?: number | undefined; // since the last sample
  readonly steps?: readonly EngineStep[] | undefined; // undefined: not seen
  /** undefined while the service does not report. */
  readonly requests?: RequestSample;
}

export interface GpuUse {
  readonly smActivity: number;
  readonly smClockMHz: number;
  readonly mostSmClockMHz: number;
}

export interface Metered extends Observed {
  readonly high: readonly MeteredHigh[];
}

export interface Look extends Metered {
  readonly nowMs: Millis; // monotonic
  readonly gpu?: GpuUse | undefined;
  readonly smShare?: number | undefined;
  readonly colocated: boolean | undefined; // undefined: contradictory observations
  readonly jobs?: readonly string[];
  readonly held?: boolean; // all best-effort work waited
}

/** impossible: not met even solo. unheard: about requests, and the service does not report. */
export const objectiveStates = ["learning", "met", "missed", "impossible", "unheard"] as const;
export type ObjectiveState = (typeof objectiveStates)[number];

/** Only these fields of a memory are shown to people. */
export interface Memory {
  readonly level: number; // 0: full protection
  readonly about?: "requests" | "gaps" | undefined;
  readonly pace?: Pace | undefined;
  readonly pausedUntilMs: number | undefined;
  readonly clients: ReadonlyMap<
    // The key is a client's id.
    string,
    {
      readonly state: ObjectiveState;
      readonly reference?: AloneBursts | undefined;
      readonly tightest?: RequestKind | undefined;
      readonly mostStretch?: number | undefined; // steps may be this many times as long
      readonly stepless?: boolean | undefined;
      readonly gaps?: boolean; // it has an objective by default
    }
  >;
}

export interface AloneBursts {
  readonly p50Us?: number;
  readonly p99Us: number;
  readonly waitedP50Us?: number;
  readonly waitedP99Us: number;
}

export interface Policy {
  readonly name: string;
  readonly summary: string;
  readonly learnsFrom?: "services" | "objectives" | "trainings";
  rules(seen: Observed, memory?: Memory): Rules;
  /** Neither side changes a memory. */
  remember?(look: Look, memory: Memory | undefined): Memory;
}

export type Overrides = Partial<Rules>;

export const withOverrides = (rules: Rules, overrides: Overrides): Rules => ({
  ...rules,
  ...overrides,
});

/** Throws a UserError. `note` gets a sentence for each former name of a parameter. */
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
