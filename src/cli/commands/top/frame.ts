import { type ClientTable, clientTable } from "./client-table.ts";
import { type Row, rowsOf, sorted } from "./columns.ts";
import { detailLines, problemLines } from "./details.ts";
import { gpuLines, MAX_ROWS } from "./gpu-lines.ts";
import { helpLines, hints } from "./help.ts";
import { blank, cut, type Line, line, span } from "./line.ts";
import { clockTime, type Model, type Size, type View } from "./model.ts";
import { orderText } from "./orders.ts";

export interface Frame {
  readonly lines: readonly Line[];
  readonly clients: readonly string[];
  readonly titles: readonly string[];
  readonly mostScroll: number;
}

/** Fewer clients than these are always listed, whatever else has to go. */
const MIN_CLIENTS = 3;
const MIN_EVENTS = 2;
const MAX_EVENTS = 10;

export function frameOf(model: Model, view: View, { columns, rows }: Size): Frame {
  const onTerminal = Number.isFinite(rows);
  const head = headLines(model, view);
  const foot = onTerminal ? [hints(view.page)] : [];
  const room = Math.max(0, rows - head.length - foot.length);
  const clients = sorted(rowsOf(model.snapshot), view.sort, view.reverse);
  const table = clientTable(clients, view, columns);
  const all = pageLines(model, view, columns, room, clients, table);
  const mostScroll = view.page === "clients" ? 0 : Math.max(0, all.length - room);
  const begin = Math.min(view.scroll, mostScroll);
  const shown = all.slice(begin, begin + room);
  const padding = onTerminal ? Array<Line>(Math.max(0, room - shown.length)).fill(blank) : [];
  return {
    lines: [...head, ...shown, ...padding, ...foot].slice(0, rows).map((one) => cut(one, columns)),
    clients: clients.map(({ key }) => key),
    titles: table.titles,
    mostScroll,
  };
}

function headLines(model: Model, { paused, asked, notice }: View): readonly Line[] {
  const { snapshot, lost, now } = model;
  const { at, agent } = snapshot;
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  return [
    [span("cotenant top", "heading"), span(`  ${clockTime(at)}  ${agent}`)],
    ...(lost === undefined
      ? []
      : [
          line(
            `Old data, from ${clockTime(at)}, ${seconds} s ago. ${lost} It is asked again.`,
            "alarm",
          ),
        ]),
    ...(asked ? [line(orderText(asked, model), "bad")] : []),
    ...(notice === undefined ? [] : [line(notice, "bad")]),
    ...(paused ? [line(`Paused at ${clockTime(at)}: p goes on.`, "bad")] : []),
  ];
}

function pageLines(
  model: Model,
  view: View,
  columns: number,
  room: number,
  clients: readonly Row[],
  table: ClientTable,
): readonly Line[] {
  if (view.page === "help") return helpLines(columns);
  if (view.page === "details") return detailLines(model, view.selected, columns);
  const least = Math.min(clients.length, MIN_CLIENTS) + 1 + MIN_EVENTS + 2;
  const above = (rows: number) => aboveTable(model, view, columns, rows);
  const timelineRows = [MAX_ROWS, 2, 1].find((rows) => above(rows).length + least <= room) ?? 0;
  const top = shortened(above(timelineRows), Math.max(2, room - least));
  const tableRoom = room - top.length - (model.snapshot.events.length > 0 ? MIN_EVENTS + 1 : 0);
  const listed =
    clients.length > 0 ? [table.head, ...listedLines(clients, table, view, tableRoom - 1)] : [];
  const events = eventLines(model, room - top.length - listed.length - 1);
  return [...top, ...listed, ...(events.length > 0 ? [blank] : []), ...events];
}

/** Many GPUs, or many sentences, leave room for clients. */
const shortened = (lines: readonly Line[], most: number): readonly Line[] =>
  lines.length <= most
    ? lines
    : [
        ...lines.slice(0, most - 1),
        line(`… ${lines.length - most + 1} more lines in a higher terminal`, "aside"),
      ];

function aboveTable(model: Model, view: View, columns: number, rows: number): readonly Line[] {
  const { launched, jobs, gpus } = model.snapshot;
  return [
    ...launched.map((text) => line(text, "aside")),
    ...jobs.flatMap(({ name, problem }) => problemLines(problem, columns, name)),
    ...gpus.flatMap((gpu) => [
      ...gpuLines(gpu, model, view, columns, rows),
      ...(rows > 0 ? [blank] : []),
    ]),
    ...(gpus.length === 0 ? [line("No client has come yet.")] : []),
  ];
}

/** If there is no room for all, it lists those around the selected one. */
function listedLines(
  clients: readonly Row[],
  { lines }: ClientTable,
  { selected }: View,
  room: number,
): readonly Line[] {
  if (lines.length <= room) return lines;
  const count = Math.max(1, room - 1);
  const chosen = Math.max(
    0,
    clients.findIndex(({ key }) => key === selected),
  );
  const begin = Math.min(Math.max(0, chosen - count + 1), lines.length - count);
  const more = lines.length - count;
  return [...lines.slice(begin, begin + count), line(`… ${more} more clients: ↑ ↓`, "aside")];
}

function eventLines({ snapshot }: Model, room: number): readonly Line[] {
  const count = Math.min(snapshot.events.length, MAX_EVENTS, room - 1);
  if (count <= 0) return [];
  return [
    line("Last events", "heading"),
    ...snapshot.events
      .slice(-count)
      .toReversed()
      .map(({ time, event, facts }) => [
        span(`${clockTime(time)}  ${event}`),
        span(`  ${facts}`, "aside"),
      ]),
  ];
}
