import { padEnd, wrap } from "#core";
import { type ClientView, figureMeanings, type GpuView, type WorstView } from "#dashboard";
import { blank, type Line, line, span, wrapped } from "./line.ts";
import { clockTime, keyOf, type Model } from "./model.ts";

const INDENT = "  ";

export function detailLines(
  { snapshot, worst }: Model,
  selected: string | undefined,
  columns: number,
): readonly Line[] {
  for (const gpu of snapshot.gpus)
    for (const client of gpu.clients)
      if (keyOf(gpu, client.id) === selected)
        return [...about(client, gpu, columns), ...burstsOf(client, gpu, worst, columns)];
  return [line("This client has gone.", "bad")];
}

function about(client: ClientView, gpu: GpuView, columns: number): readonly Line[] {
  const { name, class: kind, pid, owner, command, badge, says, problem, notes, lastEvent } = client;
  const missed = client.standing === "missed";
  return [
    line(`${name}, ${kind}, on ${gpu.name}`, "heading"),
    ...fact("pid", `${pid}, ${owner}`, columns),
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
  gpu: GpuView,
  worst: readonly WorstView[],
  columns: number,
): readonly Line[] {
  if (client.class !== "high") return [];
  const own = worst.find((one) => one.uuid === gpu.uuid && one.client === client.id);
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
