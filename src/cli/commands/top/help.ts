import { padEnd } from "#core";
import { blank, type Line, line, span, wrapped } from "./line.ts";
import type { View } from "./model.ts";

const keys: readonly (readonly [string, string])[] = [
  ["q, Esc, Ctrl-C", "quit; Esc leaves this page first"],
  ["↑ ↓, j k", "select a client; move this page"],
  ["Enter", "details of the selected client: why its bursts were slow"],
  ["s, > <", "sort by the next column, or the one before"],
  ["r", "reverse the order"],
  ["t", "timeline: newest, 15 minutes, a day"],
  ["p", "pause, and go on"],
  ["P R", "park the selected best-effort job, and resume it; each letter twice"],
  ["M", "move it to another GPU"],
  ["E", "end it, and its state with it"],
  ["h, ?", "this page"],
];

const meanings: readonly (readonly [string, string])[] = [
  ["service", "a burst of a service ran"],
  ["best-effort", "best-effort work ran, and no burst"],
  ["held", "best-effort work waited, and no burst ran"],
  ["idle", "neither ran nor waited"],
];

export function helpLines(columns: number): readonly Line[] {
  const pairs = (all: readonly (readonly [string, string])[]) => {
    const width = Math.max(...all.map(([first]) => first.length));
    return all.flatMap(([first, second]) => {
      const [begin = [], ...rest] = wrapped(second, columns - width - 2);
      return [
        [span(`${padEnd(first, width)}  `, "heading"), ...begin],
        ...rest.map((one) => [span(" ".repeat(width + 2)), ...one]),
      ];
    });
  };
  return [
    line("Keys", "heading"),
    ...pairs(keys),
    blank,
    line("The timeline: where the GPU's time went", "heading"),
    ...pairs(meanings),
    blank,
    ...wrapped(
      'Figures are of the last 4 seconds. The columns are those of "cotenant status" and of the dashboard; details name each figure in full.',
      columns,
    ),
  ];
}

export const hints = (page: View["page"]): Line =>
  line(
    page === "clients"
      ? "q quit  h help  ↑↓ select  Enter details  s sort  r reverse  t timeline  p pause  P R M E park…"
      : "Esc back  ↑↓ move  q quit",
    "aside",
  );
