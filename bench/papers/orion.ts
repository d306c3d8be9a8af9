// Orion (EuroSys'24): its evaluation on the modelled V100, and its policy on an H200.
import { change, one, type PaperRow, percent, read, span, times } from "./row.ts";

interface Arrangement {
  readonly arrangement: string;
  readonly p95: number;
  readonly p99: number;
  readonly retained: number;
}
interface ByArrivals {
  readonly rows: readonly { readonly arrivals: string; readonly rows: readonly Arrangement[] }[];
}
interface Bench {
  readonly cells: readonly {
    readonly arrangement: string;
    readonly high?: { readonly burst: { readonly p99: { readonly value: number } } };
  }[];
}

const model = <T>(name: string) => read<T>(`2026-11-23-model-orion-${name}`);
const orion = (rows: readonly Arrangement[]) =>
  one(rows, ({ arrangement }) => arrangement === "orion-mps", "Orion");
const of = (name: string, arrivals: string) =>
  orion(one(model<ByArrivals>(name).rows, (row) => row.arrivals === arrivals, arrivals).rows);

const paper = (experiment: string) => `npx tsx bench/model/paper.ts ${experiment}`;

const PAIRS = [
  "bert-graph+bert-train@policies",
  "bert-graph+gpt2-train@all-policies",
  "bert-graph+resnet50-train@all-policies",
  "resnet50-graph+bert-train@all-policies",
  "resnet50-graph+gpt2-train@all-policies",
  "resnet50-graph+resnet50-train@all-policies",
] as const;

/** Slowdown of the burst's p99 under Orion's policy on an H200. */
const measured = (): readonly number[] =>
  PAIRS.map((pair) => {
    const { cells } = read<Bench>(`2026-11-22-h200-bench-${pair}`);
    const cell = one(cells, ({ arrangement }) => arrangement === "orion-mps", `Orion on ${pair}`);
    if (!cell.high) throw new Error(`Orion on ${pair} has no requests`);
    return cell.high.burst.p99.value;
  });

export function orionRows(): readonly PaperRow[] {
  const poisson = of("inf-train", "poisson");
  const apollo = of("inf-train", "apollo");
  const savings = model<{ readonly rows: readonly { readonly savings: number }[] }>("cost-savings");
  const trainings = model<{
    readonly rows: readonly {
      readonly arrangement: string;
      readonly high: number;
      readonly best: number;
    }[];
  }>("train-train");
  const together = one(trainings.rows, (row) => row.arrangement === "orion-mps", "two trainings");
  const five = orion(model<{ readonly rows: readonly Arrangement[] }>("five-clients").rows);
  const [alone, shared] = model<{
    readonly rows: readonly {
      readonly compute: number;
      readonly dram: number;
      readonly smActivity: number;
    }[];
  }>("utilisation").rows;
  const used = (name: "compute" | "dram" | "smActivity") =>
    `${percent(alone?.[name] ?? Number.NaN)} to ${percent(shared?.[name] ?? Number.NaN)}`;
  const whole = "a request takes the sum of its kernels, less than PyTorch takes";
  return [
    {
      figure: "inference beside training, Poisson: p95, p99",
      paper: "within +12 %, +14 %",
      ours: `${change(poisson.p95)}, ${change(poisson.p99)}`,
      difference: "modelled V100, published profiles, 25 pairs",
      command: paper("inf-train"),
    },
    {
      figure: "the same with the Apollo trace: p99",
      paper: "within +14 %",
      ours: change(apollo.p99),
      difference: "missed: requests are shorter here and the kernels that they meet as long",
      command: paper("inf-train"),
    },
    {
      figure: "cost savings in that",
      paper: "1.26 to 1.49x",
      ours: `${span(savings.rows.map((row) => row.savings))}x`,
      difference: whole,
      command: paper("cost-savings"),
    },
    {
      figure: "inference beside inference: p99, Apollo and Poisson",
      paper: "within +22 %, +15 %",
      ours: `${change(of("inf-inf", "apollo").p99)}, ${change(of("inf-inf", "poisson").p99)}`,
      difference: whole,
      command: paper("inf-inf"),
    },
    {
      figure: "throughput of both in that",
      paper: "up to 7.3x",
      ours: `all that arrives (${percent(of("inf-inf", "poisson").retained)})`,
      difference: "the factor is a ratio of the rates that are offered",
      command: paper("inf-inf"),
    },
    {
      figure: "training beside training: the high one, both at best",
      paper: "within -16 %, up to 1.6x",
      ours: `${change(together.high)}, ${times(together.best)}`,
      difference: "the loss that its search accepts is not printed; 16 % here",
      command: paper("train-train"),
    },
    {
      figure: "makespan of two trainings against one after the other",
      paper: "1.29x less",
      difference: "not modelled: throughputs are",
    },
    {
      figure: "five clients: p99",
      paper: "within +9 %",
      ours: change(five.p99),
      difference: "a V100 at half the rates, not an A100",
      command: paper("five-clients"),
    },
    {
      figure: "compute, memory bandwidth, busy SMs",
      paper: "7 to 36 %, 10 to 47 %, 11 to 49 %",
      ours: `${used("compute")}, ${used("dram")}, ${used("smActivity")}`,
      difference:
        "published profiles have classes and no utilisation, which is too much for small kernels",
      command: paper("utilisation"),
    },
    {
      figure: "its policy on an H200: p99 of a burst, six pairs",
      paper: "–",
      ours: `${span(measured())}x`,
      difference: "an H200 under MPS and services in graphs, in which single kernels have no class",
      command: "cotenant-lab bench PAIR --arrangement orion-mps",
    },
  ];
}
