// Reading of results and joining of cells, for the tables of predictions.
import { readFileSync } from "node:fs";
import { table } from "#bench";

export type Row = readonly string[];
export type ByName<T> = Readonly<Record<string, T>>;
export type Result = ByName<unknown>;

export const read = (name: string): Result =>
  JSON.parse(readFileSync(`bench/results/${name}.json`, "utf8"));

/** Figures by contestant, in the order in which contestants first appear. The last result that has one counts. */
export const merged = <T>(files: readonly string[], of: (result: Result) => ByName<T>): ByName<T> =>
  Object.assign({}, ...files.map((file) => of(read(file))));

export const percent = (part: number): string => `${Math.round(part * 100)} %`;

/** Lines of a table in Markdown. */
export const lines = (head: Row, rows: readonly Row[]): string[] =>
  table(
    head,
    head.map(() => "left" as const),
    rows,
  );
