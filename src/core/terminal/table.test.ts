import { expect, test } from "vitest";
import { paintFor } from "./paint.ts";
import { type Column, fitTable } from "./table.ts";

interface Row {
  readonly name: string;
  readonly p99: string;
  readonly clock: string;
}

const columns: readonly Column<Row>[] = [
  { title: "name", words: true, cell: ({ name }) => name },
  { title: "clock", rank: 2, cell: ({ clock }) => clock },
  { title: "p99", cell: ({ p99 }) => p99 },
  { title: "power", rank: 1, cell: () => "" },
];
const rows = [
  { name: "alone", p99: "1.00x", clock: "1,980 MHz" },
  { name: "together", p99: "12.0x", clock: "" },
];

test("columns are as wide as needed, words to the left, empty columns are left out", () => {
  expect(fitTable(columns, rows)).toEqual([
    "name          clock    p99",
    "alone     1,980 MHz  1.00x",
    "together             12.0x",
  ]);
});

test("in a narrow terminal a column of least importance goes, and is named", () => {
  expect(fitTable(columns, rows, 20)).toEqual([
    "name        p99",
    "alone     1.00x",
    "together  12.0x",
    "Left out, in a",
    "narrow terminal:",
    "clock.",
  ]);
});

test("what must stay is cut where even that is too wide", () => {
  expect(fitTable(columns.slice(0, 1), rows, 6)).toEqual(["name", "alone", "toget…"]);
});

test("colours are for terminals, and NO_COLOR switches them off", () => {
  const heading = (isTTY: boolean, env = {}) => paintFor({ isTTY }, env).heading("x");
  expect([heading(true), heading(true, { NO_COLOR: "1" }), heading(false)]).toEqual([
    "\x1b[1mx\x1b[22m",
    "x",
    "x",
  ]);
});
