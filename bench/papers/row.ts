// The form of the tables of docs/results/papers.md, and the reading of results for them.
import { readFileSync } from "node:fs";

/** A figure of a paper beside ours. */
export interface PaperRow {
  readonly figure: string;
  readonly paper: string;
  /** Undefined where nothing was run. */
  readonly ours?: string;
  /** Why the two differ, or why nothing was run. */
  readonly difference: string;
  /** The command that makes our figure. */
  readonly command?: string;
}

export const read = <T>(name: string): T =>
  JSON.parse(readFileSync(`bench/results/${name}.json`, "utf8"));

/** The first that fits. Throws if there is none. */
export function one<T>(all: readonly T[], fits: (item: T) => boolean, what: string): T {
  const found = all.find(fits);
  if (found === undefined) throw new Error(`no result has ${what}`);
  return found;
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** "+7 %" of a ratio of 1.07. */
export const change = (ratio: number): string => {
  const percent = Math.round(100 * (ratio - 1));
  return `${percent < 0 ? "-" : "+"}${Math.abs(percent)} %`;
};
export const percent = (part: number): string => `${Math.round(100 * part)} %`;
/** "1.49x" */
export const times = (ratio: number): string => `${ratio.toFixed(2)}x`;
/** "0.88 to 0.93" */
export const span = (values: readonly number[], decimals = 2): string =>
  `${Math.min(...values).toFixed(decimals)} to ${Math.max(...values).toFixed(decimals)}`;

/** Throws where a result lacks what a row shows. */
export const rowsTable = (rows: readonly PaperRow[]): readonly string[] => [
  "| figure | the paper | ours | what differs | made by |",
  "| --- | --- | --- | --- | --- |",
  ...rows.map(({ figure, paper, ours, difference, command }) => {
    if (ours?.match(/NaN|Infinity|undefined/)) throw new Error(`nothing measured of ${figure}`);
    const made = command === undefined ? "" : `\`${command}\``;
    return `| ${figure} | ${paper} | ${ours ?? "not run"} | ${difference} | ${made} |`;
  }),
];
