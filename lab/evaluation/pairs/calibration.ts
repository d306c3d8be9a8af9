// Compares predicted with measured retained throughput of pairs of a cluster.

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
}

export interface CalibrationReport {
  /** By what the prediction is from. */
  readonly bySource: readonly Calibration[];
  /** By the predicted retained throughput. */
  readonly byPredicted: readonly Calibration[];
  /** By the day of the last measurement, UTC. */
  readonly byDay: readonly Calibration[];
}

const FIFTHS = 5;

/** Takes the pairs whose retained throughput was measured by work; each counts once. */
export function calibrationOf(all: readonly ClusterPair[]): CalibrationReport {
  const pairs = distinct(all).filter(({ by, seconds }) => by === "work" && seconds > 0);
  const grouped = (keyOf: (pair: ClusterPair) => string) =>
    [...groupsOf(pairs, keyOf)]
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([of, group]) => ({ of, ...meansOf(group) }));
  return {
    bySource: grouped(({ predicted }) => predicted.from),
    byPredicted: grouped(({ predicted }) => {
      const fifth = Math.min(FIFTHS - 1, Math.floor(FIFTHS * predicted.retained));
      return `${(fifth / FIFTHS).toFixed(1)} to ${((fifth + 1) / FIFTHS).toFixed(1)}`;
    }),
    byDay: grouped(({ at }) => at.toISOString().slice(0, 10)),
  };
}

function meansOf(pairs: readonly ClusterPair[]): Omit<Calibration, "of"> {
  const seconds = pairs.reduce((sum, pair) => sum + pair.seconds, 0);
  const mean = (of: (pair: ClusterPair) => number) =>
    pairs.reduce((sum, pair) => sum + pair.seconds * of(pair), 0) / seconds;
  return {
    pairs: pairs.length,
    hours: seconds / 3600,
    predicted: mean(({ predicted }) => predicted.retained),
    measured: mean(({ retained }) => retained),
    error: mean(({ predicted, retained }) => Math.abs(predicted.retained - retained)),
  };
}
