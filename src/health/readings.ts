// MuxFlow prints no thresholds ("empirically selected").
import { percent } from "#core";
import type { Limits, Wording } from "./judge.ts";

interface Reading extends Limits, Wording {
  readonly doc: string;
  readonly source: string;
  /** The software GPU's times are invented, so such readings are judged only on request. */
  readonly ofMachine: boolean;
  /** No measurement has failed without a value: there is nothing to be measured. */
  readonly lapses: boolean;
}

const NEVER = Infinity;

const count = (value: number) => value.toFixed(0);
const degrees = (value: number) =>
  `${count(Math.abs(value))} °C ${value < 0 ? "below" : "above"} slowdown`;

type ReadingOptions = Omit<Reading, "forSeconds" | "ofMachine" | "lapses" | "show"> &
  Partial<Reading>;
const reading = (given: ReadingOptions): Reading => ({
  forSeconds: 1,
  ofMachine: false,
  lapses: false,
  show: percent,
  ...given,
});

/** Such a reading is only judged if the operator gives thresholds. */
const notJudged = { healthyBelow: NEVER, unhealthyFrom: NEVER, overlimitFrom: NEVER };
const once = {
  healthyBelow: 1,
  unhealthyFrom: 1,
  overlimitFrom: NEVER,
  forSeconds: 0,
  show: count,
};

export const readings = {
  memory: reading({
    title: "GPU memory in use",
    doc: "of the GPU's memory, by anybody",
    healthyBelow: 0.92,
    unhealthyFrom: 0.95,
    overlimitFrom: NEVER,
    source: "ours: a new client needs some GB. Never Overlimit: held work gives no memory back",
  }),
  temperature: reading({
    title: "GPU temperature",
    doc: "degrees C above the temperature at which the GPU slows down by itself; negative below it",
    healthyBelow: -8,
    unhealthyFrom: -5,
    overlimitFrom: 0,
    show: degrees,
    source: "the GPU's own slowdown temperature (NVML); the distances are ours",
  }),
  throttle: reading({
    title: "clock limit",
    doc: "0: none; 1: the driver slows the clock because of heat; 2: the hardware slows it because of heat or power",
    healthyBelow: 1,
    unhealthyFrom: 1,
    overlimitFrom: 2,
    show: (value) => ["none", "by heat", "by the hardware"][value] ?? count(value),
    source: "NVML's clock event reasons: the hardware's slowdown halves clocks or worse",
  }),
  clockLoss: reading({
    title: "SM clock missing",
    doc: "1 - SM clock / highest SM clock, while the GPU is at least half busy and nobody fixed its clocks; else 0",
    healthyBelow: 0.4,
    unhealthyFrom: 0.5,
    overlimitFrom: 0.65,
    forSeconds: 3,
    source: "ours: half is what the hardware's slowdown takes; a power limit takes less",
  }),
  power: reading({
    title: "power",
    doc: "of the power limit in force",
    ...notJudged,
    source:
      "not judged: a busy training is at its limit, and `throttle` says when the hardware acts on it",
  }),
  smActivity: reading({
    title: "SM activity",
    doc: "part of the SMs' time in which a warp was resident (GPM, Hopper and later)",
    ...notJudged,
    source: "not judged: the gate makes requests go first, so a full GPU is what is wanted",
  }),
  xids: reading({
    title: "XID errors in two hours",
    doc: "those that no program causes: all but 13, 31, 43, 45, 68 and 109",
    ...once,
    source:
      "NVIDIA's k8s-device-plugin takes the same six for errors of programs (internal/rm/health.go)",
  }),
  eccErrors: reading({
    title: "uncorrected ECC errors in two hours",
    doc: "new ones since the agent began to look",
    ...once,
    source: "ours: one such error ends a program, and more may follow",
  }),
  rowsPending: reading({
    title: "memory rows to be remapped",
    doc: "1: a reset of the GPU is needed to remap bad rows",
    ...once,
    source: "NVIDIA GPU memory error management: a pending remapping asks for a reset",
  }),
  lateness: reading({
    title: "slowdown of a service",
    doc: "how much slower the bursts of the slowest high client are while best-effort work runs than solo; of clients whose solo times are known, and not measured while none runs or from fewer than 100 bursts of the last minute",
    healthyBelow: 0.8,
    unhealthyFrom: 1,
    overlimitFrom: 4,
    forSeconds: 8,
    ofMachine: true,
    lapses: true,
    source: "ours: far beyond what the gate costs where it works (MuxFlow accepts 20 %)",
  }),
  memoryPressure: reading({
    title: "host memory pressure",
    doc: "part of the last 10 s in which all tasks of the machine waited for memory (PSI, full)",
    healthyBelow: 0.05,
    unhealthyFrom: 0.1,
    overlimitFrom: 0.6,
    forSeconds: 0,
    ofMachine: true,
    source:
      "systemd-oomd acts at 60 %; 10 % is ours (MuxFlow evicts when the kernel swaps for long)",
  }),
  cpuPressure: reading({
    title: "host CPU pressure",
    doc: "part of the last 10 s in which some task waited for a CPU (PSI, some)",
    ...notJudged,
    ofMachine: true,
    source: "not judged: tasks of the lowest priority count like the service",
  }),
} as const satisfies Record<string, Reading>;

export type ReadingName = keyof typeof readings;
export const readingNames = Object.keys(readings) as readonly ReadingName[];

export type AllLimits = Readonly<Record<ReadingName, Limits>>;

export function limitsFor(
  software: boolean,
  given: Partial<Record<ReadingName, Partial<Limits>>> = {},
): AllLimits {
  const inForce = (name: ReadingName): Limits => {
    const usual: Reading = readings[name];
    const off = software && usual.ofMachine ? notJudged : {};
    return { ...usual, ...off, ...given[name] };
  };
  return Object.fromEntries(
    readingNames.map((name) => [name, inForce(name)] as const),
  ) as AllLimits;
}

export function readingsTable(): readonly string[] {
  const shown = (name: ReadingName, value: number) =>
    value === NEVER ? "" : readings[name].show(value);
  const rows = readingNames.map((name) => {
    const { doc, healthyBelow, unhealthyFrom, overlimitFrom, forSeconds, source }: Reading =
      readings[name];
    const limits = [healthyBelow, unhealthyFrom, overlimitFrom].map((value) => shown(name, value));
    return `| \`${name}\` | ${[doc, ...limits, `${forSeconds} s`, source].join(" | ")} |`;
  });
  return [
    "| reading | is | Healthy below | Unhealthy from | Overlimit from | for | source |",
    "| --- | --- | --: | --: | --: | --: | --- |",
    ...rows,
  ];
}
