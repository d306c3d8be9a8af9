// A run as one page that needs nothing else: no script, no font, no picture from elsewhere.

import { element, joinMarkup, type Markup, words } from "#core";
import type { Figures } from "../meters.ts";
import { coloursFor } from "./colours.ts";
import { type LineChart, lineChart } from "./lines.ts";
import { columns, levelRows, levelTitles } from "./summary.ts";

export interface Report {
  readonly name: string;
  readonly about: string;
  /** The command that made it. */
  readonly command: string;
  /** By seed and scheduler; charts show the first seed. */
  readonly figures: readonly Figures[];
  /** Simulated time in which the online side is looked at, hours. */
  readonly hours: number;
}

const STYLE = `
body { margin: 0; background: #f6f8fa; color: #1f2328; font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 24px 16px 48px; }
h1 { font-size: 22px; margin: 0 0 4px; } h2 { font-size: 16px; margin: 28px 0 8px; }
p { margin: 4px 0; max-width: 78ch; } .quiet { color: #59636e; }
.card { background: #fff; border: 1px solid #d8dee4; border-radius: 8px; padding: 12px; overflow-x: auto; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(400px, 1fr)); gap: 12px; }
svg { width: 100%; height: auto; display: block; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 5px 9px; border-bottom: 1px solid #eaeef2; white-space: nowrap; }
th { color: #59636e; font-weight: 600; vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child { text-align: left; }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 5px; margin-right: 7px; }
.legend span { margin-right: 16px; white-space: nowrap; }
code { background: #eaeef2; padding: 1px 5px; border-radius: 4px; }
`;

export function htmlReport(report: Report): string {
  const first = report.figures.filter(({ seed }) => seed === report.figures[0]?.seed);
  const colours = coloursFor(first.map(({ scheduler }) => scheduler));
  const page = element(
    "html",
    { lang: "en" },
    element(
      "head",
      {},
      '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">' as Markup,
      element("title", {}, words(`Cluster simulation: ${report.name}`)),
      element("style", {}, STYLE as Markup),
    ),
    element("body", {}, element("main", {}, ...sections(report, first, colours))),
  );
  return `<!doctype html>\n${page}\n`;
}

type Colours = ReadonlyMap<string, string>;

function sections(report: Report, first: readonly Figures[], colours: Colours): Markup[] {
  const seeds = new Set(report.figures.map(({ seed }) => seed)).size;
  return [
    element("h1", {}, words(`Cluster simulation: ${report.name}`)),
    element("p", {}, words(report.about)),
    element("p", { class: "quiet" }, words("Made by "), element("code", {}, words(report.command))),
    element("h2", {}, words("Schedulers")),
    element("div", { class: "card" }, figuresTable(report.figures, colours)),
    element(
      "p",
      { class: "quiet" },
      words(
        `Slowdown: latency, queueing included, to that of the same requests alone; oversold: what shared GPUs were worth to best-effort jobs, 1 is a GPU of their own. ${seeds > 1 ? `Means over ${seeds} seeds; charts show the first.` : "One seed."}`,
      ),
    ),
    element("h2", {}, words("Over the day")),
    element(
      "p",
      { class: "legend" },
      ...[...colours].map(([name, colour]) => legend(name, colour)),
    ),
    element(
      "div",
      { class: "grid" },
      ...charts(report, first, colours).map((chart) =>
        element("div", { class: "card" }, lineChart(chart)),
      ),
    ),
    element("h2", {}, words("Services")),
    element("div", { class: "card" }, servicesTable(first, colours)),
    ...prioritiesTable(report.figures, colours),
  ];
}

const dot = (colour: string): Markup =>
  element("span", { class: "dot", style: `background:${colour}` });
const legend = (name: string, colour: string): Markup =>
  element("span", {}, dot(colour), words(name));

function figuresTable(all: readonly Figures[], colours: Colours): Markup {
  const rows = [...colours].map(([name, colour]) => {
    const own = all.filter(({ scheduler }) => scheduler === name);
    return element(
      "tr",
      {},
      element("td", {}, dot(colour), words(name)),
      ...columns.map(({ of }) => element("td", {}, words(of(own)))),
    );
  });
  const head = ["scheduler", ...columns.map(({ title }) => title)];
  return element(
    "table",
    {},
    element("tr", {}, ...head.map((title) => element("th", {}, words(title)))),
    ...rows,
  );
}

/** Nothing where all jobs have the same priority. */
function prioritiesTable(all: readonly Figures[], colours: Colours): Markup[] {
  const rows = [...colours].flatMap(([name, colour]) =>
    levelRows(all.filter(({ scheduler }) => scheduler === name)).map((row) =>
      element(
        "tr",
        {},
        element("td", {}, dot(colour), words(name)),
        ...row.map((cell) => element("td", {}, words(cell))),
      ),
    ),
  );
  if (rows.length === 0) return [];
  const head = ["scheduler", ...levelTitles];
  return [
    element("h2", {}, words("Priorities")),
    element(
      "div",
      { class: "card" },
      element(
        "table",
        {},
        element("tr", {}, ...head.map((title) => element("th", {}, words(title)))),
        ...rows,
      ),
    ),
  ];
}

function servicesTable(first: readonly Figures[], colours: Colours): Markup {
  const ms = (value: number) => `${value.toFixed(value < 100 ? 1 : 0)} ms`;
  const rows = first.flatMap(({ scheduler, services }) =>
    services.map(({ name, meanMs, p99Ms, meanSlowdown, p99Slowdown }) =>
      element(
        "tr",
        {},
        element("td", {}, dot(colours.get(scheduler) ?? ""), words(scheduler)),
        ...[name, ms(meanMs), meanSlowdown.toFixed(3), ms(p99Ms), p99Slowdown.toFixed(3)].map(
          (text) => element("td", {}, words(text)),
        ),
      ),
    ),
  );
  const head = ["scheduler", "service", "mean latency", "to alone", "p99 latency", "to alone"];
  return joinMarkup([
    element(
      "table",
      {},
      element("tr", {}, ...head.map((title) => element("th", {}, words(title)))),
      ...rows,
    ),
  ]);
}

function charts(report: Report, first: readonly Figures[], colours: Colours): LineChart[] {
  const over = (of: (point: Figures["series"][number]) => number) =>
    first.map(({ scheduler, series }) => ({
      name: scheduler,
      colour: colours.get(scheduler) ?? "",
      points: series
        .filter(({ hour }) => hour < report.hours)
        .map((point) => [point.hour, of(point)] as const),
    }));
  const percent = (value: number) => `${Math.round(100 * value)} %`;
  const day = { x: "hour", xStep: 4, xFormat: (hour: number) => String(hour), from: 0 };
  const count = (value: number) => String(Math.round(value));
  return [
    {
      ...day,
      title: "Mean latency of requests, to alone",
      from: 1,
      atLeast: 1.05,
      curves: over((one) => one.slowdown),
      format: (value) => value.toFixed(2),
    },
    {
      ...day,
      title: "Best-effort throughput, in whole GPUs",
      curves: over((one) => one.throughput),
      format: count,
    },
    { ...day, title: "Jobs that wait", curves: over((one) => one.waiting), format: count },
    {
      ...day,
      title: "GPU utilisation",
      atLeast: 1,
      curves: over((one) => one.busy),
      format: percent,
    },
    {
      ...day,
      title: "SM activity",
      atLeast: 0.5,
      curves: over((one) => one.activity),
      format: percent,
    },
    {
      ...day,
      title: "GPU memory in use",
      atLeast: 0.5,
      curves: over((one) => one.memory),
      format: percent,
    },
    {
      title: "Jobs done within a completion time",
      x: "completion time, minutes",
      logarithmic: true,
      xStep: 1,
      xFormat: (minutes) => String(minutes),
      from: 0,
      atLeast: 1,
      format: percent,
      curves: first
        .filter(({ finished }) => finished > 0)
        .map(({ scheduler, jcts }) => ({
          name: scheduler,
          colour: colours.get(scheduler) ?? "",
          points: distribution(jcts),
        })),
    },
  ];
}

/** At most 200 points of the cumulative distribution, in minutes. */
function distribution(jcts: readonly number[]): (readonly [number, number])[] {
  const stride = Math.max(1, Math.floor(jcts.length / 200));
  return jcts
    .map((jct, i) => [Math.max(0.1, jct / 60), (i + 1) / jcts.length] as const)
    .filter((_, i) => i % stride === 0 || i === jcts.length - 1);
}
