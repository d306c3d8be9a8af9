// The tables of the report. On a narrow screen a row becomes a block, and each cell has its column's title beside it.
import { element, type Markup, words } from "#core";
import type { Figures } from "../model/figures.ts";
import { swatch } from "./chart.ts";
import type { Looks } from "./colours.ts";
import { missesObjective } from "./findings.ts";
import { columns, levelRows, levelTitles } from "./summary.ts";

interface Row {
  readonly scheduler: string;
  readonly cells: readonly Markup[];
}

export const figuresTable = (all: readonly Figures[], looks: Looks): Markup =>
  table(
    columns.map(({ title }) => title),
    [...looks.keys()].map((scheduler) => {
      const own = all.filter((one) => one.scheduler === scheduler);
      return { scheduler, cells: columns.map((column) => cellOf(column, own, all)) };
    }),
    looks,
  );

/** The best of a column is marked, also among equals; not where all are equal. */
function cellOf(
  { of, merit }: (typeof columns)[number],
  own: readonly Figures[],
  all: readonly Figures[],
): Markup {
  const names = [...new Set(all.map(({ scheduler }) => scheduler))];
  const compared = names
    .map((name) => all.filter(({ scheduler }) => scheduler === name))
    .filter((seeds) => merit(seeds) !== undefined);
  const texts = compared.map(of);
  const best = compared.reduce<readonly Figures[] | undefined>(
    (a, b) => (a && (merit(a) ?? 0) >= (merit(b) ?? 0) ? a : b),
    undefined,
  );
  const text = of(own);
  const isBest =
    best !== undefined &&
    merit(own) !== undefined &&
    text === of(best) &&
    texts.some((one) => one !== text);
  return isBest ? element("span", { class: "best" }, withSpread(text)) : withSpread(text);
}

/** Without rows where all jobs have the same priority. */
export function prioritiesTable(all: readonly Figures[], looks: Looks): Markup | undefined {
  const rows = [...looks.keys()].flatMap((scheduler) =>
    levelRows(all.filter((one) => one.scheduler === scheduler)).map((row) => ({
      scheduler,
      cells: row.map(words),
    })),
  );
  return rows.length > 0 ? table(levelTitles, rows, looks) : undefined;
}

/** By service, so that the schedulers of one can be compared. */
export function servicesTable(first: readonly Figures[], looks: Looks): Markup {
  const ms = (value: number) => `${value.toFixed(value < 100 ? 1 : 0)} ms`;
  const names = first[0]?.services.map(({ name }) => name) ?? [];
  const rows = names.flatMap((name, i) =>
    first.flatMap(({ scheduler, services }): Row[] => {
      const one = services[i];
      if (!one) return [];
      const cells = [
        name,
        ms(one.meanMs),
        one.meanSlowdown.toFixed(3),
        ms(one.p99Ms),
        one.p99Slowdown.toFixed(3),
      ];
      const met = missesObjective(one.meanSlowdown)
        ? element("span", { class: "missed" }, words("missed"))
        : words("met");
      return [{ scheduler, cells: [...cells.map(words), met] }];
    }),
  );
  const titles = [
    "service",
    "mean latency",
    "mean / alone",
    "p99 latency",
    "p99 / alone",
    "objective",
  ];
  return table(titles, rows, looks);
}

function table(titles: readonly string[], rows: readonly Row[], looks: Looks): Markup {
  const alignment = (title = ""): Readonly<Record<string, string>> =>
    title === "scheduler" || title === "service" ? { class: "words" } : {};
  const head = (title: string) =>
    element("th", { scope: "col", ...alignment(title) }, words(title));
  return element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...["scheduler", ...titles].map(head))),
    element(
      "tbody",
      {},
      ...rows.map(({ scheduler, cells }) => {
        const look = looks.get(scheduler);
        return element(
          "tr",
          {},
          element("td", { class: "name words" }, ...(look ? [swatch(look)] : []), words(scheduler)),
          ...cells.map((cell, i) =>
            element(
              "td",
              { "data-column": titles[i] ?? "", ...alignment(titles[i]) },
              element("span", { class: "value" }, cell),
            ),
          ),
        );
      }),
    ),
  );
}

/** "1.03 ±0.01" takes two lines, so that all columns fit. */
function withSpread(text: string): Markup {
  const [value = "", spread] = text.split(" ±");
  if (spread === undefined) return words(value);
  return [words(value), element("span", { class: "spread" }, words(`±${spread}`))].join(
    " ",
  ) as Markup;
}
