// What `npm start` runs: what sharing does to a latency-critical client, with and without the gate.
import { type GpuKind, openNvml } from "#agent";
import { type Demonstrated, type DemoOutcome, demonstrate } from "#bench";
import { ownUid } from "#client";
import { micros, percent, table, UserError } from "#core";
import { command, json, number } from "../command.ts";

export const demoCommand = command({
  name: "demo",
  summary: "show in some twenty seconds what sharing does to a job, with and without the gate",
  options: { seconds: number("S", 3, "per arrangement", { min: 0.5, max: 600 }), json },
  async run({ seconds, json: asJson }) {
    process.env.COTENANT_CONFIG = ""; // what it starts has the options that it is given, and no others
    const gpu = gpuHere();
    const arrangements = await demonstrate({
      gpu,
      seconds,
      uid: ownUid(),
      progress: (name, index, of) => console.error(`demo: ${name} (${index + 1} of ${of})`),
      measured: (outcome) => console.error(`demo: ${inWords(outcome)}`),
    });
    console.log(
      asJson ? JSON.stringify({ gpu, seconds, arrangements }, null, 2) : report(arrangements),
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

function report(outcomes: Demonstrated): string {
  const times = (factor: number | undefined) =>
    factor === undefined ? "" : `${factor.toFixed(2)}x`;
  const time = (us: number | undefined) => (us === undefined ? "" : micros(us));
  const rows = outcomes.map(({ arrangement, requestUs, serviceUs, slowdown, retained }) => [
    arrangement,
    time(requestUs?.p50),
    times(slowdown.requestP50),
    time(requestUs?.p99),
    times(slowdown.requestP99),
    time(serviceUs?.p50),
    times(slowdown.serviceP50),
    time(serviceUs?.p99),
    times(slowdown.serviceP99),
    retained === undefined ? "" : percent(retained),
  ]);
  return [
    ...table(
      [["", "request p50", "", "p99", "", "service p50", "", "p99", "", "best-effort"], ...rows],
      1,
    ),
    "",
    "request: arrival to completion; service: begin of submission to completion.",
    "Ratios are to the same client alone. best-effort: retained throughput.",
  ].join("\n");
}
