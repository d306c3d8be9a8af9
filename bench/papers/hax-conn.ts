// HaX-CoNN (PPoPP'24): its scenarios with the only groups whose times are public, GoogleNet's on a Xavier.
import { change, one, type PaperRow, read } from "./row.ts";

interface Way {
  readonly name: string;
  readonly latencyMs: number;
  readonly predictedMs: number;
  readonly throughputPerS: number;
}
interface Scenario {
  readonly rows: readonly Way[];
  readonly unaware: Pick<Way, "latencyMs" | "predictedMs">;
  readonly cotenant: Pick<Way, "latencyMs" | "throughputPerS">;
}
interface Soc {
  readonly sizes: readonly {
    readonly networks: number;
    readonly groups: number;
    readonly maxTransitions: number;
    readonly totalMs: number;
    readonly optimal: boolean;
  }[];
  readonly scenarios: readonly (Scenario & { readonly name: string })[];
  readonly contention: readonly (Scenario & { readonly limit: number })[];
  readonly dynamic: {
    readonly firstAtMs: number;
    readonly latenciesMs: readonly number[];
  };
}
interface Hard {
  readonly runs: readonly {
    readonly gap: number;
    readonly planMs: number;
    readonly z3PlanMs?: number;
    readonly z3BoundMs?: number;
  }[];
}
interface Z3 {
  readonly runs: readonly { readonly optimal: boolean; readonly off: number }[];
}

const SOC = "npx tsx bench/soc/run.ts OUT.json DATA";

export function haxConnRows(): readonly PaperRow[] {
  const { sizes, scenarios, contention, dynamic } = read<Soc>("2026-11-20-soc");
  const scenario = (number: number) =>
    one(scenarios, ({ name }) => name.startsWith(`${number}:`), `scenario ${number}`);
  const latency = (number: number) => {
    const { rows, cotenant } = scenario(number);
    return change(Math.min(...rows.map(({ latencyMs }) => latencyMs)) / cotenant.latencyMs);
  };
  const throughput = (number: number) => {
    const { rows, cotenant } = scenario(number);
    const best = Math.max(...rows.map(({ throughputPerS }) => throughputPerS));
    return change(cotenant.throughputPerS / best);
  };
  const mispredicted = contention.flatMap(({ rows }) =>
    rows
      .filter(({ name }) => name === "Herald" || name === "H2H")
      .map(({ latencyMs, predictedMs }) => latencyMs / predictedMs),
  );
  const lost = contention.map(({ unaware, cotenant }) => unaware.latencyMs / cotenant.latencyMs);
  const solved = (networks: number, groups: number, transitions: number) => {
    const own = sizes.filter(
      (row) =>
        row.networks === networks && row.groups === groups && row.maxTransitions === transitions,
    );
    const seconds = own.map(({ totalMs }) => totalMs / 1000);
    const proven = own.filter(({ optimal }) => optimal).length;
    return `${networks} x ${groups}: ${proven} of ${own.length} in at most ${Math.max(...seconds).toFixed(1)} s`;
  };
  const { runs } = read<Z3>("2026-11-21-soc-z3");
  const hard = read<Hard>("2026-11-30-soc-hard").runs;
  const gaps = hard.map(({ gap }) => (100 * gap).toFixed(1)).sort((a, b) => Number(a) - Number(b));
  const z3Bounds = hard.map(({ planMs, z3BoundMs = 0 }) => Math.round((100 * z3BoundMs) / planMs));
  const z3Plans = hard.filter(({ z3PlanMs }) => z3PlanMs !== undefined).length;
  const off = Math.max(...runs.map((run) => Math.abs(run.off)));
  const googleNet = "GoogleNet in all roles: times of the others and all demands are not public";
  return [
    {
      figure: "two instances: throughput over the best baseline",
      paper: "up to +29 % (Orin)",
      ours: throughput(1),
      difference: "GoogleNet on a Xavier; the objective is the sum of 1 / latency",
      command: SOC,
    },
    {
      figure: "two networks side by side: latency",
      paper: "+15 to +23 %, +32 % in the abstract",
      ours: latency(2),
      difference: googleNet,
      command: SOC,
    },
    {
      figure: "a pipeline of two: throughput",
      paper: "0 to +26 % (latency), 0 to +23 % (rate)",
      ours: throughput(3),
      difference: googleNet,
      command: SOC,
    },
    {
      figure: "a pipeline beside a third network: latency",
      paper: "+13 %, +22 %",
      ours: latency(4),
      difference: "each network alone on one accelerator is the optimum of these times",
      command: SOC,
    },
    {
      figure: "baselines that ignore contention mispredict",
      paper: "by up to 75 %",
      ours: `by up to ${change(Math.max(...mispredicted)).slice(1)}`,
      difference: "demands are 42 to 78 % of the memory, shared in proportion",
      command: SOC,
    },
    {
      figure: "what ignoring contention loses",
      paper: "up to 70 %",
      ours: `up to ${(100 * (Math.max(...lost) - 1)).toFixed(1)} %`,
      difference: "as above; steeper measured slowdowns would give more",
      command: SOC,
    },
    {
      figure: "time to the optimum",
      paper: "under 3 s mostly, 10 s for 985 layers (Z3, Orin)",
      ours: [solved(2, 10, 4), solved(2, 30, 4), solved(3, 20, 2)].join("; "),
      difference: "made-up networks; own search, one thread",
      command: SOC,
    },
    {
      figure: "3 x 20 at four transitions: within how much of the best after a minute",
      paper: "–",
      ours: `${gaps[0]} to ${gaps.at(-1)} %; Z3: ${z3Plans} plans, bounds of at most ${Math.max(...z3Bounds)} % of these`,
      difference: "made-up networks; one model, and no plan to start from",
      command: "npx tsx bench/soc/hard.ts OUT.json",
    },
    {
      figure: "the same optimum by Z3",
      paper: "–",
      ours: `${runs.filter(({ optimal }) => optimal).length} of ${runs.length} agree within ${off.toExponential(0)}`,
      difference: "Z3 gets the makespan and nothing else of the plan",
      command: "npx tsx bench/soc/z3.ts OUT.json",
    },
    {
      figure: "while it runs: first plan, best plan",
      paper: "better plans as the loop goes on",
      ours: `after ${Math.round(dynamic.firstAtMs)} ms ${dynamic.latenciesMs[0]?.toFixed(2)} ms, then ${dynamic.latenciesMs.at(-1)?.toFixed(2)} ms`,
      difference: "three made-up networks of 20 groups",
      command: SOC,
    },
    {
      figure: "ten experiments on Xavier, Orin and Snapdragon",
      paper: "0 to +26 %",
      difference:
        "no such board; quoted. On partitions of one H200 fourteen pairs are [measured](layer-mapping.md#on-a-discrete-gpu)",
    },
  ];
}
