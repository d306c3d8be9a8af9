// The tables of docs/results/papers.md, one for each paper.
import { haxConnRows } from "./hax-conn.ts";
import { kaceRows } from "./kace.ts";
import { muxflowRows } from "./muxflow.ts";
import { orionRows } from "./orion.ts";
import { rowsTable } from "./row.ts";
import { tallyRows } from "./tally.ts";

export const paperTables = (): ReadonlyMap<string, readonly string[]> =>
  new Map([
    ["Orion", rowsTable(orionRows())],
    ["Tally", rowsTable(tallyRows())],
    ["KACE", rowsTable(kaceRows())],
    ["MuxFlow", rowsTable(muxflowRows())],
    ["HaX-CoNN", rowsTable(haxConnRows())],
  ]);
