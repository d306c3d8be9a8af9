import { type GpuKind, openNvml } from "#agent";
import { ownUid } from "#client";
import {
  type Column,
  fitTable,
  micros,
  paintFor,
  percent,
  plain,
  progressOf,
  UserError,
  wrap,
} from "#core";
import { type Demonstrated, type DemoOutcome, demonstrate, demoVerdict } from "#measure";
import { command, json, number } from "../program/command.ts";

export const demoCommand = command({
  name: "demo",
  summary: "show in some twenty seconds what sharing does to a job, with and without the gate",
  options: { seconds: number("S", 3, "per arrangement", { min: 0.5, max: 600 }), json },
  async run({ seconds, json: asJson }) {
    process.env.COTENANT_CONFIG = ""; // what it starts has the options that it is given, and no others
    const gpu = gpuHere();
    const shown = progressOf("demo");
    const demonstrated = await demonstrate({
      gpu,
      seconds,
      uid: ownUid(),
      progress: (name, index, of, leftS) => shown.step(`${name} (${index + 1} of ${of})`, leftS),
      measured: (outcome) => shown.note(inWords(outcome)),
    });
    shown.end();
    console.log(
      asJson
        ? JSON.stringify({ gpu, seconds, ...demonstrated }, null, 2)
        : report(demonstrated, process.stdout.columns, paintFor(process.stdout)),
    );
    return 0;
  },
});

function gpuHere(): GpuKind {
  try {
    openNvml();
    return "nvidia";
  } catch (error) {
    if (!(error instanceof UserError) || error.code !== "NO_GPU") throw error;
    console.error(
      `demo: ${error.message} The software GPU takes its place: its times are made up, its waiting is real.`,
    );
    return "soft";
  }
}

const inWords = ({ requestUs, iterationsPerS }: DemoOutcome): string =>
  [
    requestUs && `requests take ${micros(requestUs.p50)}, p99 ${micros(requestUs.p99)}`,
    iterationsPerS !== undefined &&
      `the best-effort job does ${iterationsPerS.toFixed(0)} iterations/s`,
  ]
    .filter(Boolean)
    .join("; ");

type Shown = Demonstrated["arrangements"][number];

const columns: readonly Column<Shown>[] = [
  { title: "", words: true, cell: ({ arrangement }) => arrangement },
  { title: "p50", rank: 2, cell: ({ requestUs }) => time(requestUs?.p50) },
  { title: "to alone", rank: 2, cell: ({ slowdown }) => times(slowdown.requestP50) },
  { title: "p99", cell: ({ requestUs }) => time(requestUs?.p99) },
  { title: "to alone", cell: ({ slowdown }) => times(slowdown.requestP99) },
  { title: "service p50", rank: 3, cell: ({ serviceUs }) => time(serviceUs?.p50) },
  { title: "to alone", rank: 3, cell: ({ slowdown }) => times(slowdown.serviceP50) },
  { title: "service p99", rank: 1, cell: ({ serviceUs }) => time(serviceUs?.p99) },
  { title: "to alone", rank: 1, cell: ({ slowdown }) => times(slowdown.serviceP99) },
  {
    title: "retained",
    cell: ({ retained }) => (retained === undefined ? "" : percent(retained)),
  },
];

const times = (factor: number | undefined) => (factor === undefined ? "" : `${factor.toFixed(2)}x`);
const time = (us: number | undefined) => (us === undefined ? "" : micros(us));

function report(
  demonstrated: Demonstrated,
  width = Number.POSITIVE_INFINITY,
  paint = plain,
): string {
  const { arrangements, noise } = demonstrated;
  const verdict = demoVerdict(demonstrated);
  return [
    ...fitTable(columns, arrangements, width, paint),
    "",
    ...wrap(
      "p50, p99: of requests, arrival to completion. service: begin of submission to completion. To alone: as a ratio to the same client alone. retained: of the best-effort client's throughput.",
      width,
    ).map(paint.aside),
    ...wrap(noise.sentence, width).map(noise.noisy ? paint.bad : paint.aside),
    ...(verdict === undefined ? [] : ["", ...wrap(verdict, width)]),
    ...wrap(
      'Next: "cotenant try -- SERVICE -- TRAINING" measures your own two jobs. "cotenant up" starts an agent, and says how to run them.',
      width,
    ),
  ].join("\n");
}
