import type { GpuView } from "#dashboard";
import { problemLines } from "./details.ts";
import { type Line, span, wrapped } from "./line.ts";
import type { Model, View } from "./model.ts";
import { timelineOf } from "./timeline.ts";

const INDENT = "  ";

/** `rows` are those of the timeline. */
export function gpuLines(
  gpu: GpuView,
  { snapshot, timelines }: Model,
  view: Pick<View, "stretch">,
  columns: number,
  rows: number,
): readonly Line[] {
  const { uuid, name, facts, sentence, standing, clients, parts, advice, strangers } = gpu;
  const number = snapshot.gpus.length > 1 ? `${snapshot.gpus.indexOf(gpu)}: ` : "";
  const known = timelines.get(uuid);
  const timeline = known && timelineOf(known, view.stretch, columns, rows);
  const missed = standing === "missed";
  const troubled = clients.filter(({ problem }) => problem);
  return [
    [span(`${number}${name}`, "heading"), span(facts && `  ${facts}`)],
    ...wrapped(sentence, columns, INDENT, missed ? "alarm" : undefined),
    ...troubled.flatMap(({ name, problem }) =>
      problemLines(problem, columns, troubled.length > 1 ? name : ""),
    ),
    ...parts.flatMap((part) => wrapped(part, columns, INDENT, "aside")),
    ...strangers.flatMap(({ text, adopt }) => [
      ...wrapped(text, columns, INDENT, "bad"),
      ...(adopt ? wrapped(`Next time: ${adopt}`, columns, INDENT) : []),
    ]),
    ...(timeline
      ? [[span(`${timeline.title}  `), span(recoveredText(gpu), "aside")], ...timeline.lines]
      : []),
    ...(rows === MAX_ROWS ? advice.flatMap((one) => wrapped(one, columns, INDENT, "aside")) : []),
  ];
}

/** The rows are service, best-effort, held and idle. */
export const MAX_ROWS = 4;

const recoveredText = ({ recovered }: GpuView) => `recovered today: ${recovered.text}`;
