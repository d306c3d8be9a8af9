// A run as one page that needs nothing else: no font, no picture, no script from elsewhere.
import { element, type Markup, words } from "#core";
import type { Figures } from "../model/figures.ts";
import { drawChart } from "./chart.ts";
import { chartsOf } from "./charts.ts";
import { type Looks, looksFor } from "./colours.ts";
import { findings, verdict } from "./findings.ts";
import { script } from "./script.ts";
import { style } from "./style.ts";
import { figuresTable, prioritiesTable, servicesTable } from "./tables.ts";

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

/** The policy makes the browser refuse whatever is not in the file. */
const HEAD = [
  '<meta charset="utf-8">',
  '<meta name="viewport" content="width=device-width, initial-scale=1">',
  '<meta name="color-scheme" content="light dark">',
  `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">`,
  '<link rel="icon" href="data:,">',
].join("") as Markup;

export function htmlReport(report: Report): string {
  const first = report.figures.filter(({ seed }) => seed === report.figures[0]?.seed);
  const looks = looksFor(first.map(({ scheduler }) => scheduler));
  const page = element(
    "html",
    { lang: "en" },
    element(
      "head",
      {},
      HEAD,
      element("title", {}, words(`Cluster simulation: ${report.name}`)),
      element("style", {}, style as Markup),
    ),
    element(
      "body",
      {},
      element("main", {}, ...sections(report, first, looks)),
      element("script", {}, script as Markup),
    ),
  );
  return `<!doctype html>\n${page}\n`;
}

function sections(report: Report, first: readonly Figures[], looks: Looks): Markup[] {
  const priorities = prioritiesTable(report.figures, looks);
  const decided = verdict(report.figures);
  const severalSeeds = report.figures.length > first.length;
  const which = severalSeeds ? ` of seed ${first[0]?.seed}` : "";
  return [
    element("h1", {}, words(`Cluster simulation: ${report.name}`)),
    element("p", {}, words(report.about)),
    ...(decided === undefined ? [] : [element("p", { class: "verdict" }, words(decided))]),
    element(
      "ul",
      { class: "findings" },
      ...findings(report.figures).map((text) => element("li", {}, words(text))),
    ),
    heading("Schedulers"),
    figuresTable(report.figures, looks),
    note(
      "Slowdown: latency, queueing included, divided by that of the same requests alone. JCT: job completion time. Oversold: what shared GPUs were worth to best-effort jobs, where 1 is a GPU of their own. ± is the standard deviation over seeds. The best of a column is green and bold, among the schedulers that start trainings.",
    ),
    heading(`Over the run${which}`),
    element(
      "p",
      { class: "quiet hint" },
      words("Point at a chart, or use the arrow keys on it, to read single points."),
    ),
    element("div", { class: "charts" }, ...chartsOf(first, looks, report.hours).map(drawChart)),
    ...(first.some(({ services }) => services.length > 0)
      ? [heading(`Services${which}`), servicesTable(first, looks)]
      : []),
    ...(priorities ? [heading("Priorities"), priorities] : []),
    element("p", { class: "quiet" }, words("Made by "), element("code", {}, words(report.command))),
  ];
}

const heading = (text: string): Markup => element("h2", {}, words(text));
const note = (text: string): Markup => element("p", { class: "quiet" }, words(text));
