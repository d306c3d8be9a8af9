// Tally (ASPLOS'25): its experiments on an H200, from the nine pairs. Its figures are from the authors' talk.
import { readPairs } from "../sharing/pairs.ts";
import { change, mean, one, type PaperRow, percent } from "./row.ts";

const PAIR = "cotenant-lab bench PAIR --arrangement strict-isolated";
const BASELINES = ["time-slicing", "mps", "mps-priority"] as const;

export function tallyRows(): readonly PaperRow[] {
  const pairs = readPairs();
  const graphs = pairs.filter(({ service }) => !service.includes("eager"));
  const rowOf = ({ pair: { rows } }: (typeof pairs)[number], arrangement: string) =>
    one(rows, (row) => row.arrangement === arrangement, arrangement);
  const p99 = (pair: (typeof pairs)[number], arrangement: string): number =>
    rowOf(pair, arrangement).latency.p99?.value ?? Number.NaN;
  const retained = (pair: (typeof pairs)[number], arrangement: string): number =>
    rowOf(pair, arrangement).kept?.value ?? Number.NaN;
  const ours = (of: typeof pairs) => change(mean(of.map((pair) => p99(pair, "strict-isolated"))));
  const best = (of: typeof pairs) => {
    const means = BASELINES.map((name) => ({
      name,
      ratio: mean(of.map((pair) => p99(pair, name))),
    }));
    const [least] = means.sort((a, b) => a.ratio - b.ratio);
    return least ? `${change(least.ratio)} (${least.name})` : "";
  };
  const throughput = graphs.map(
    (pair) =>
      retained(pair, "strict-isolated") /
      Math.max(...BASELINES.map((name) => retained(pair, name))),
  );
  return [
    {
      figure: "p99 of the service beside training, mean over pairs",
      paper: "+7 %",
      ours: `${ours(graphs)} (services in graphs), ${ours(pairs)} (all nine pairs)`,
      difference: "an H200, other services and trainings; the eager service is limited by its CPU",
      command: PAIR,
    },
    {
      figure: "the best baseline in that",
      paper: "+188 %",
      ours: `graphs ${best(graphs)}, all ${best(pairs)}`,
      difference: "of time slicing, MPS and MPS with priority; Tally compares with TGS, too",
      command: "cotenant-lab bench PAIR --arrangement time-slicing",
    },
    {
      figure: "throughput against the best baseline's",
      paper: "over 80 %",
      ours: `${percent(mean(throughput))} (${percent(Math.min(...throughput))} to ${percent(Math.max(...throughput))})`,
      difference: "the best baseline is MPS, which delays the p99 by 3.8 to 1,655 times",
      command: PAIR,
    },
    {
      figure: "blocks instead of kernels",
      paper: "decisive (a chart)",
      ours: "p99 of a burst 2.65x to 1.14x, 2.37x to 1.03x",
      difference:
        "kernels of 5 ms beside ResNet50 and BERT ([page](stopping-inside.md#at-what-grain-work-stops))",
      command: "npx tsx bench/live/tally.ts",
    },
    {
      figure: "threshold of the turnaround",
      paper: "0.0316 ms",
      ours: "0.2 ms; finer gains nothing",
      difference: "blocks of 100 us ([page](stopping-inside.md#the-threshold))",
      command: "npx tsx bench/live/tally.ts",
    },
    {
      figure: "transformed kernels alone",
      paper: "+25 % on average",
      ours: "-12, +1, +2 % (medians of three corpora)",
      difference:
        "over all kernels, not as scheduled ([page](stopping-inside.md#what-variants-cost))",
      command: "python3 bench/ptx/h200/run.py PLAN OUT",
    },
    {
      figure: "virtualisation",
      paper: "+1 %",
      ours: "service 0 %, training 0 to 4 %",
      difference:
        "no server: the library decides in the process ([page](overhead.md#overhead-alone))",
      command: "cotenant-lab bench PAIR --arrangement solo@strict-isolated",
    },
    {
      figure: "profiling",
      paper: "minutes, once a job",
      ours: "0.5 to 1.0 s a kernel, then a trial of 13 to 102 ms",
      difference: "variants are kept across runs ([page](stopping-inside.md#how-long-it-takes))",
      command: "npx tsx bench/live/tally.ts",
    },
    {
      figure: "YOLOv6, Llama 2, Stable Diffusion, GPT-Neo; PEGASUS, Whisper",
      paper: "in the mean of +7 %",
      difference: "weights and data are not at hand",
    },
  ];
}
