import { type Column, fitTable, micros, type Paint, plain, wrap } from "#core";
import { millis, percent, perSecond, times, whole } from "../figures/words.ts";
import { type LatencyFigures, type TryRow, units } from "./figures.ts";
import type { TryResult } from "./try.ts";
import { ratioText } from "./verdict.ts";
import { isByDefault, wayNamed } from "./ways.ts";

export function tryReport(result: TryResult, width?: number, paint: Paint = plain): string {
  const { rows, judged, unit, verdict, noise, accepted, skipped, strangers } = result;
  const lines = (text: string) => wrap(text, width ?? Number.POSITIVE_INFINITY);
  const good = verdict.choice !== "unclear" && verdict.choice !== "no-sharing";
  const source =
    judged === "app"
      ? "Latency is what the service says of itself; a burst is the GPU side of a request."
      : "Latency is that of bursts: the GPU side of a request, without waiting in the service.";
  return [
    ...fitTable(columnsOf(judged), rows, width, paint),
    "",
    ...lines(
      `${source} The interval of the p99 covers 95 %. The training's speed is in ${units[unit]}. Alone is without MPS.`,
    ).map(paint.aside),
    ...skipped.flatMap((one) => lines(`Not measured, ${one}`)),
    ...(strangers.length > 0
      ? lines(`Others used the GPU meanwhile: ${strangers.join(", ")}.`)
      : []),
    ...(noise.noisy ? [] : lines(noise.sentence).map(paint.aside)),
    "",
    ...lines(verdict.sentence).map(good ? paint.good : paint.bad),
    ...rows.flatMap((row) => whySlow(row, result)).flatMap(lines),
    ...(good ? lines(`The limit is a p99 of at most ${times(1 + accepted)} (--accept).`) : []),
    ...start(result),
  ].join("\n");
}

/** Names the slow round of an arrangement, and the wait of its longest burst. */
function whySlow({ title, slowest, ...row }: TryRow, { judged, accepted, noise }: TryResult) {
  const { rounds = [], high = 0 } = row[judged]?.p99 ?? {};
  if (noise.noisy || !(high > 1 + accepted)) return [];
  const [burst] = slowest[rounds.indexOf(Math.max(...rounds))] ?? [];
  if (!burst) return [];
  const { lastedUs, waitedUs, cause, remedy } = burst;
  return [
    `Why slow with ${title}: the p99 of its rounds was ${rounds.map(times).join(", ")}. The longest burst of the slowest round took ${micros(lastedUs)} and waited ${micros(waitedUs)} for the GPU: ${cause}.${remedy === "" ? "" : ` What helps: ${remedy}.`}`,
  ];
}

function start({ verdict: { arrangement, slo } }: TryResult): string[] {
  if (arrangement === undefined || arrangement === "time-slicing") return [];
  const way = wayNamed(arrangement);
  const policy = isByDefault(way) ? "" : ` --policy ${way.policy.name}`;
  const objective = slo === undefined ? "" : ` --slo ${slo}`;
  return [
    "",
    `    cotenant up --mode ${way.mode}${policy}`,
    `    cotenant run --class high${objective} -- SERVICE`,
    "    cotenant run --class best-effort -- TRAINING",
  ];
}

const columnsOf = (judged: TryResult["judged"]): readonly Column<TryRow>[] => {
  const latency =
    (text: (figures: LatencyFigures, row: TryRow) => string, of: "bursts" | "app" = judged) =>
    (row: TryRow) => {
      const figures = row[of];
      return figures ? text(figures, row) : "";
    };
  const isSolo = ({ title }: TryRow) => title === "service alone";
  return [
    { title: "", words: true, cell: ({ title }) => title },
    { title: "requests", rank: 2, cell: latency(({ requests }) => whole(Math.round(requests))) },
    { title: "p50", rank: 1, cell: latency(({ p50Ms }) => millis(p50Ms)) },
    { title: "p99", cell: latency(({ p99Ms }) => millis(p99Ms)) },
    {
      title: "to alone",
      cell: latency(({ p99 }, row) => (isSolo(row) ? "" : ratioText(p99))),
    },
    ...(judged === "app"
      ? [
          {
            title: "burst p99",
            rank: 3,
            cell: latency(
              ({ p99, p99Ms }, row) => (isSolo(row) ? millis(p99Ms) : times(p99.value)),
              "bursts",
            ),
          },
        ]
      : []),
    {
      title: "training",
      rank: 4,
      cell: ({ perS }) => (perS === undefined ? "" : perSecond(perS)),
    },
    {
      title: "retained",
      cell: ({ name, retained }) =>
        retained === undefined || name === "alone" ? "" : percent(retained.value),
    },
  ];
};
