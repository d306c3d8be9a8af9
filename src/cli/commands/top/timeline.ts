import { padEnd, padStart, percent, type Style } from "#core";
import { type Series, type ShareName, shareNames, type TimelineView } from "#dashboard";
import { type Line, span } from "./line.ts";
import { stretches } from "./model.ts";

const blocks = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;
const UNKNOWN = " ";

type RowName = ShareName | "idle";

const rows: readonly { readonly name: RowName; readonly text: string; readonly style: Style }[] = [
  { name: "service", text: "service", style: "service" },
  { name: "bestEffort", text: "best-effort", style: "good" },
  { name: "held", text: "held", style: "bad" },
  { name: "idle", text: "idle", style: "aside" },
];

const LABEL = Math.max(...rows.map(({ text }) => text.length));
const MEAN = "100 %".length;
/** Fewer columns show nothing. */
const MIN_COLUMNS = 5;

export type Shares = Readonly<Record<RowName, number>>;

export interface Timeline {
  /** It is "last 15 min, 10 s a column", for example. */
  readonly title: string;
  readonly lines: readonly Line[];
}

/** undefined where there is no room. */
export function timelineOf(
  timeline: TimelineView,
  stretch: number,
  columns: number,
  most: number,
): Timeline | undefined {
  const room = columns - LABEL - MEAN - 2;
  const chosen = stretches[stretch];
  if (room < MIN_COLUMNS || most <= 0 || !chosen) return undefined;
  const series = timeline[chosen.of];
  const periods = Math.max(1, Math.ceil(chosen.ms / series.period / room));
  const each = (periods * series.period) / 1000;
  const cells = sharesBy(series, periods, room);
  return {
    title: `last ${chosen.text || seconds(each * room)}, ${seconds(each)} a column`,
    lines: rows.slice(0, most).map((row) => rowLine(row, cells)),
  };
}

function rowLine(
  { name, text, style }: (typeof rows)[number],
  cells: readonly (Shares | undefined)[],
): Line {
  const mean = meanOf(cells, name);
  return [
    span(`${padEnd(text, LABEL)} `, "aside"),
    span(cells.map((cell) => (cell ? blockOf(cell[name]) : UNKNOWN)).join(""), style),
    span(` ${padStart(mean === undefined ? "-" : percent(mean), MEAN)}`),
  ];
}

const seconds = (count: number): string =>
  count < 120 ? `${count} s` : `${Math.round(count / 60)} min`;

/** A column begins at a multiple of `periods`, so that it never changes later. */
export function sharesBy(
  series: Series,
  periods: number,
  count: number,
): readonly (Shares | undefined)[] {
  const end = series.first + series.service.length;
  const newest = Math.floor((end - 1) / periods);
  return Array.from({ length: count }, (_, i) => {
    const first = (newest - count + 1 + i) * periods;
    return sharesIn(series, first - series.first, first + periods - series.first);
  });
}

function sharesIn(series: Series, from: number, until: number): Shares | undefined {
  const mean = (name: ShareName) => {
    const known = series[name]
      .slice(Math.max(0, from), Math.max(0, until))
      .filter((value) => value !== null);
    return known.length === 0 ? undefined : known.reduce((sum, one) => sum + one, 0) / known.length;
  };
  const [service, bestEffort, held] = shareNames.map(mean);
  if (service === undefined || bestEffort === undefined || held === undefined) return undefined;
  return { service, bestEffort, held, idle: Math.max(0, 1 - service - bestEffort - held) };
}

function meanOf(cells: readonly (Shares | undefined)[], name: RowName): number | undefined {
  const known = cells.flatMap((cell) => (cell ? [cell[name]] : []));
  return known.length === 0 ? undefined : known.reduce((sum, one) => sum + one, 0) / known.length;
}

const blockOf = (share: number): string =>
  blocks[Math.min(blocks.length - 1, Math.floor(share * blocks.length))] ?? UNKNOWN;
