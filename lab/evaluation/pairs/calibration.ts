// Compares predicted with measured figures of pairs of a cluster, and how often their bounds held with how often they should.

import { COVERAGE } from "#predict";
import { distinct } from "./collect.ts";
import { groupsOf } from "./groups.ts";
import type { ClusterPair } from "./objects.ts";

/** Means weighted by time. */
export interface Calibration {
  /** The pairs have this in common, such as the source of their predictions. */
  readonly of: string;
  readonly pairs: number;
  readonly hours: number;
  readonly predicted: number;
  readonly measured: number;
  /** Mean of |predicted - measured|. */
  readonly error: number;
  readonly bounds: Coverage;
}

/** Each pair counts the same. */
export interface Coverage {
  /** Pairs whose prediction had both bounds; the parts are of these, and NaN without any. */
  readonly pairs: number;
  /** Part that measured at least the lower bound. */
  readonly aboveLow: number;
  readonly belowHigh: number;
  readonly within: number;
}

/** Parts of the pairs for which bounds are meant to hold: each by itself, and both. */
export const expectedCoverage = { each: COVERAGE, within: 2 * COVERAGE - 1 };

export interface CalibrationReport {
  readonly retained: FigureCalibration;
  /** Factors of the median of bursts or steps at equal load; undefined: none was predicted. */
  readonly slowdown: FigureCalibration | undefined;
}

export interface FigureCalibration {
  readonly all: Coverage;
  /** By what the prediction is from. */
  readonly bySource: readonly Calibration[];
  /** By what was predicted. */
  readonly byPredicted: readonly Calibration[];
  /** By the day of the last measurement, UTC. */
  readonly byDay: readonly Calibration[];
}

const FIFTHS = 5;
/** Upper ends of classes of predicted slowdowns. */
const SLOWDOWNS = [1.05, 1.1, 1.25, 1.5, 2];

/** A figure of a pair that was predicted and measured. */
interface Compared {
  readonly pair: ClusterPair;
  readonly predicted: number;
  readonly low: number | undefined;
  readonly high: number | undefined;
  readonly measured: number;
}

/**
 * Pairs whose retained throughput was measured by work, each once. A figure is compared where it was predicted and
 * measured.
 */
export function calibrationOf(all: readonly ClusterPair[]): CalibrationReport {
  const pairs = distinct(all).filter(({ by, seconds }) => by === "work" && seconds > 0);
  const slowed = pairs.flatMap((pair): readonly Compared[] => {
    const { bursts } = pair.predicted;
    if (bursts === undefined || pair.slowdown === undefined) return [];
    // No service is faster with a job than solo: what is below 1 is noise, as where the manager learns.
    const measured = Math.max(1, pair.slowdown);
    return [{ pair, measured, predicted: bursts.slowdown, low: bursts.low, high: bursts.high }];
  });
  const retained = pairs.map((pair): Compared => {
    const { retained: predicted, retainedLow: low, retainedHigh: high } = pair.predicted;
    return { pair, measured: pair.retained, predicted, low, high };
  });
  return {
    retained: figureOf(retained, fifthOf),
    slowdown: slowed.length > 0 ? figureOf(slowed, slowdownClassOf) : undefined,
  };
}

function figureOf(
  all: readonly Compared[],
  classOf: (predicted: number) => string,
): FigureCalibration {
  const grouped = (keyOf: (one: Compared) => string) =>
    [...groupsOf(all, keyOf)]
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([key, group]) => ({ of: key, ...meansOf(group) }));
  return {
    all: coverageOf(all),
    bySource: grouped(({ pair }) => pair.predicted.from),
    byPredicted: grouped(({ predicted }) => classOf(predicted)),
    byDay: grouped(({ pair }) => pair.at.toISOString().slice(0, 10)),
  };
}

function fifthOf(retained: number): string {
  const fifth = Math.min(FIFTHS - 1, Math.floor(FIFTHS * retained));
  return `${(fifth / FIFTHS).toFixed(1)} to ${((fifth + 1) / FIFTHS).toFixed(1)}`;
}

function slowdownClassOf(slowdown: number): string {
  const next = SLOWDOWNS.findIndex((end) => slowdown < end);
  const from = (SLOWDOWNS[next < 0 ? SLOWDOWNS.length - 1 : next - 1] ?? 1).toFixed(2);
  return next < 0 ? `${from} or more` : `${from} to ${SLOWDOWNS[next]?.toFixed(2)}`;
}

function meansOf(all: readonly Compared[]): Omit<Calibration, "of"> {
  const seconds = all.reduce((sum, { pair }) => sum + pair.seconds, 0);
  const mean = (of: (one: Compared) => number) =>
    all.reduce((sum, one) => sum + one.pair.seconds * of(one), 0) / seconds;
  return {
    pairs: all.length,
    hours: seconds / 3600,
    predicted: mean(({ predicted }) => predicted),
    measured: mean(({ measured }) => measured),
    error: mean(({ predicted, measured }) => Math.abs(predicted - measured)),
    bounds: coverageOf(all),
  };
}

/** Bounds are written with three decimals. */
const ROUNDING = 0.0005;

function coverageOf(all: readonly Compared[]): Coverage {
  const bounded = all.flatMap(({ measured, low, high }) =>
    low === undefined || high === undefined
      ? []
      : [{ isAbove: measured >= low - ROUNDING, isBelow: measured <= high + ROUNDING }],
  );
  const part = (is: (one: (typeof bounded)[number]) => boolean) =>
    bounded.filter(is).length / bounded.length;
  return {
    pairs: bounded.length,
    aboveLow: part(({ isAbove }) => isAbove),
    belowHigh: part(({ isBelow }) => isBelow),
    within: part(({ isAbove, isBelow }) => isAbove && isBelow),
  };
}
