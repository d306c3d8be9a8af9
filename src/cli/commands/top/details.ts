import { padEnd, wrap } from "#core";
import {
  type ClientView,
  figureMeanings,
  type GpuView,
  type Snapshot,
  type WorstView,
} from "#dashboard";
import { pidsText, rowsOf } from "./columns.ts";
import { blank, type Line, line, span, wrapped } from "./line.ts";
import { clockTime, type Model } from "./model.ts";

const INDENT = "  ";

export function detailLines(
  { snapshot, worst }: Model,
  selected: string | undefined,
  columns: number,
): readonly Line[] {
  const row = rowsOf(snapshot).find(({ key }) => key === selected);
  if (!row) return [line("This client has gone.", "bad")];
  const { client } = row;
  const gpus = snapshot.gpus.filter(
    ({ uuid, clients }) =>
      clients.includes(client) || client.processes.some(({ gpu }) => gpu === uuid),
  );
  return [...about(client, gpus, snapshot, columns), ...burstsOf(client, gpus, worst, columns)];
}

function about(
  client: ClientView,
  gpus: readonly GpuView[],
  snapshot: Snapshot,
  columns: number,
): readonly Line[] {
  const { name, class: kind, owner, command, badge, says, problem, notes, lastEvent } = client;
  const missed = client.standing === "missed";
  const { size, processes } = client;
  const on = size === "" || gpus.length === 1 ? ` on ${gpus[0]?.name ?? "no GPU"}` : "";
  return [
    line(`${name}, ${kind},${size === "" ? "" : ` ${size}`}${on}`, "heading"),
    ...fact("pid", `${pidsText(client)}, ${owner}`, columns),
    ...fact("command", command ?? "not known", columns),
    ...(badge ? wrapped(badge, columns, INDENT, missed ? "alarm" : undefined) : []),
    ...(says ? wrapped(`${says}.`, columns, INDENT, missed ? "alarm" : undefined) : []),
    ...problemLines(problem, columns),
    ...notes.flatMap((note) => wrapped(note, columns, INDENT, "bad")),
    ...(lastEvent
      ? fact(
          "last event",
          `${clockTime(lastEvent.time)} ${lastEvent.event} ${lastEvent.facts}`,
          columns,
        )
      : []),
    ...(processes.length > 0 ? [blank, line("Processes", "heading")] : []),
    ...processes.flatMap(({ gpu, text }) => {
      const number = snapshot.gpus.findIndex(({ uuid }) => uuid === gpu);
      return wrapped(gpus.length > 1 ? `GPU ${number}: ${text}` : text, columns, INDENT);
    }),
    blank,
    ...figureLines(client, columns),
  ];
}

const fact = (label: string, value: string, columns: number) =>
  wrapped(`${label}: ${value}`, columns, INDENT);

export const problemLines = (
  problem: ClientView["problem"],
  columns: number,
  who = "",
): readonly Line[] => {
  const of = who === "" ? "" : ` (${who})`;
  return problem
    ? [
        ...wrapped(`Why${of}: ${problem.cause}.`, columns, INDENT, "alarm"),
        ...wrapped(`What to do${of}: ${problem.remedy}.`, columns, INDENT),
      ]
    : [];
};

function figureLines({ figures }: ClientView, columns: number): readonly Line[] {
  const labels = Math.max(...figures.map(({ label }) => label.length));
  const values = Math.max(...figures.map(({ value }) => value.length));
  return figures.flatMap(({ label, value }) => {
    const head = [
      span(`${padEnd(label, labels)}${INDENT}`),
      span(`${padEnd(value, values)}${INDENT}`, "heading"),
    ];
    const room = columns - labels - values - 2 * INDENT.length;
    const [first = "", ...rest] = room < 20 ? [] : wrap(figureMeanings[label], room);
    return [
      [...head, span(first, "aside")],
      ...rest.map((text) => line(`${" ".repeat(columns - room)}${text}`, "aside")),
    ];
  });
}

function burstsOf(
  client: ClientView,
  gpus: readonly GpuView[],
  worst: readonly WorstView[],
  columns: number,
): readonly Line[] {
  if (client.class !== "high") return [];
  const own = worst.find(
    (one) => one.client === client.id && gpus.some(({ uuid }) => uuid === one.uuid),
  );
  return [
    blank,
    line("Worst bursts of the last 15 minutes", "heading"),
    ...(own?.bursts ?? []).flatMap(({ at, lasted, waited, cause, remedy }) => [
      ...wrapped(
        `${clockTime(at)}  lasted ${lasted}, waited ${waited} for the GPU: ${cause}`,
        columns,
        INDENT,
      ),
      ...(remedy ? wrapped(`${INDENT}What to set: ${remedy}`, columns, INDENT, "aside") : []),
    ]),
    ...(own ? [] : [line("None has ended yet.")]),
  ];
}
