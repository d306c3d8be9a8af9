// MuxFlow: its simulation rebuilt, and the parts of its evaluation that need no testbed of its own.
import { change, mean, one, type PaperRow, read, span } from "./row.ts";

interface Figures {
  readonly scheduler: string;
  readonly meanSlowdown: number;
  readonly p99Slowdown: number;
  readonly jctMean: number;
  readonly oversold: number;
}
interface Cluster {
  readonly scenarios: readonly { readonly name: string; readonly figures: readonly Figures[] }[];
}
interface Matching {
  readonly matchings: readonly {
    readonly name: string;
    readonly n: number;
    readonly seconds: number;
  }[];
}
interface Slice {
  readonly realOverSimulated: Readonly<Record<string, number>>;
}

const CLUSTER = "2026-11-24-cluster-muxflow";
const SIMULATE =
  "npx tsx bench/cluster/run.ts OUT.json all muxflow-a muxflow-b muxflow-c muxflow-d";
/** Minutes: Muri's testbed, SRTF and Tiresias. */
const TESTBED = { srtf: 4_152, tiresias: 5_609 } as const;

type Name = "meanSlowdown" | "p99Slowdown" | "jctMean" | "oversold";

export function muxflowRows(): readonly PaperRow[] {
  const { scenarios } = read<Cluster>(CLUSTER);
  /** In each of A to D, the mean over seeds. */
  const of = (scheduler: string, name: Name): readonly number[] =>
    scenarios.map(({ figures }) => {
      const own = figures.filter((row) => row.scheduler === scheduler);
      if (own.length === 0) throw new Error(`${CLUSTER} has no ${scheduler}`);
      return mean(own.map((row) => row[name]));
    });
  const ratio = (name: Name, above: string, below: string): readonly number[] => {
    const bottom = of(below, name);
    return of(above, name).map((value, i) => value / (bottom[i] ?? Number.NaN));
  };
  const changes = (values: readonly number[]) =>
    `+${span(
      values.map((value) => 100 * (value - 1)),
      1,
    )} %`;
  const { matchings } = read<Matching>("2026-11-21-matching");
  const uniform = one(
    matchings,
    ({ name, n }) => name === "uniform" && n === 5_000,
    "5,000 x 5,000",
  );
  const [muri] = read<Cluster>("2026-11-20-cluster-muri").scenarios;
  const testbed = Object.entries(TESTBED).map(([scheduler, minutes]) => {
    const row = one(muri?.figures ?? [], (figures) => figures.scheduler === scheduler, scheduler);
    return row.jctMean / 60 / minutes;
  });
  const slice = Object.values(read<Slice>("2026-11-27-kubernetes-slice").realOverSimulated);
  const loads = "simulated, KACE's pairs and other loads: GPUs are 16 to 42 % busy";
  return [
    {
      figure: "latency of services: mean, p99",
      paper: "+16.0 %, +15.3 %",
      ours: `its rules ${changes(of("muxflow", "meanSlowdown"))}, ${changes(of("muxflow", "p99Slowdown"))}; Cotenant ${changes(of("cotenant", "meanSlowdown"))}, ${changes(of("cotenant", "p99Slowdown"))}`,
      difference: `no testbed of 1,000 T4: ${loads}`,
      command: SIMULATE,
    },
    {
      figure: "oversold GPU",
      paper: "up to 90.0 %; testbed 86.4 %",
      ours: `its rules ${span(of("muxflow", "oversold"))}, Cotenant ${span(of("cotenant", "oversold"))}`,
      difference: "its share is bound by the complement of SM activity",
      command: SIMULATE,
    },
    {
      figure: "completion time: time-sharing, with priority / MuxFlow",
      paper: "1.10 to 2.24",
      ours: `${span(ratio("jctMean", "time-sharing", "muxflow"))}, ${span(ratio("jctMean", "priority-time-sharing", "muxflow"))}`,
      difference: "GPUs have time to spare here, and a time slice loses only the switch",
      command: SIMULATE,
    },
    {
      figure: "completion time: MuxFlow / Cotenant, both at once",
      paper: "–",
      ours: span(ratio("jctMean", "muxflow@once", "cotenant")),
      difference: "equal triggers; in A to D",
      command: SIMULATE,
    },
    {
      figure: "oversold: MuxFlow / time-sharing, with priority",
      paper: "1.08 to 1.97",
      ours: `${span(ratio("oversold", "muxflow", "time-sharing"))}, ${span(ratio("oversold", "muxflow", "priority-time-sharing"))}`,
      difference: "as above: plain time-sharing is better here",
      command: SIMULATE,
    },
    {
      figure: "time-sharing slows services",
      paper: "by up to 50 %",
      ours: `${changes(of("time-sharing", "meanSlowdown"))} (p99 up to ${change(Math.max(...of("time-sharing", "p99Slowdown")))})`,
      difference: loads,
      command: SIMULATE,
    },
    {
      figure: "completion time without shares (S), matching (M), both / MuxFlow",
      paper: "all above 1, both the largest (a chart)",
      ours: ["muxflow-s", "muxflow-m", "muxflow-s-m"]
        .map((name) => span(ratio("jctMean", name, "muxflow")))
        .join("; "),
      difference: "the order is the paper's",
      command: SIMULATE,
    },
    {
      figure: "simulator against a testbed",
      paper: "within 5 %",
      ours: `${testbed.map(change).join(", ")}`,
      difference: "Muri's testbed of 64 V100, SRTF and Tiresias: MuxFlow's is not public",
      command: "npx tsx bench/cluster/run.ts OUT.json muri-testbed",
    },
    {
      figure: "control plane in real time / simulator",
      paper: "–",
      ours: `${span(slice, 3)}`,
      difference: "ten minutes on 200 software GPUs: oversold, throughput, slowdown, completion",
      command: "npx tsx bench/kubernetes/slice.ts --nodes 25 --minutes 10 --scenario muxflow-a",
    },
    {
      figure: "matching of thousands of jobs and GPUs",
      paper: "minutes",
      ours: `${uniform.seconds.toFixed(1)} s for 5,000 x 5,000`,
      difference: "an auction, then shortest paths; one CPU thread",
      command: "npx tsx bench/cluster/matching.ts OUT.json",
    },
    {
      figure: "production: GPU utilisation, SM activity, memory",
      paper: "26 to 76 %, 16 to 33 %, 42 to 48 %",
      difference: "20,000 GPUs of its company; quoted",
    },
    {
      figure: "testbed: GPU utilisation, SM activity, memory",
      paper: "4.0x, 4.7x, 1.5x",
      difference: "quoted: its services and requests are not public",
    },
    {
      figure: "production: devices with errors a day",
      paper: "below 0.9 %, 0.7 % without sharing",
      difference: "quoted; what one fault does is [measured](memory.md)",
    },
  ];
}
