// The tables of docs/results/tested.md: which program ran on which GPU and driver, by the results of measurements. Columns
// are the combinations that the doctor knows, so a result from any other machine needs a line in src/doctor/facts/tested.ts.
import { readFileSync } from "node:fs";
import { testedCombinations } from "#doctor";

interface Result {
  readonly kind?: string;
  readonly machine: { readonly gpu: string; readonly driver: string };
  readonly programs?: number | readonly { readonly program: string; readonly identical: boolean }[];
  readonly faults?: readonly unknown[];
  readonly rows?: readonly { readonly same?: boolean }[];
  readonly cases?: readonly string[];
  readonly scenario?: { readonly name: string };
  readonly cells?: readonly Cell[];
}

interface Cell {
  readonly arrangement: string;
  readonly high?: { readonly latency: { readonly p99: { readonly value: number } } };
  readonly bestEffort?: { readonly retained: { readonly value: number } };
}

const onH100Pair = "2026-11-22-h100-bench-bert-graph+bert-train@rooms";
const onH200Pair = "2026-11-23-h200-tenants-bert-graph+bert-train";
const compat = "2026-11-23-h200-tenants-compat";

/** Results in which the program ran, and the program's name in a result of kind compat. */
const rows: readonly {
  readonly name: string;
  readonly results: readonly string[];
  readonly program?: string;
}[] = [
  { name: "PyTorch eager", results: [compat, onH100Pair], program: "eager" },
  { name: "PyTorch, CUDA graphs", results: [compat, onH100Pair], program: "graph" },
  { name: "PyTorch, `torch.compile`", results: [compat], program: "compile" },
  { name: "CuPy", results: [compat], program: "cupy" },
  { name: "JAX", results: [compat], program: "jax" },
  { name: "a plain CUDA program", results: [compat], program: "plain" },
  { name: "transformers, continuous batching", results: ["2026-11-23-h100-engine-start"] },
  {
    name: "test programs of the interposer",
    results: ["2026-11-23-h200-tenants-cases", "2026-11-22-h100-cases"],
  },
  { name: "random programs", results: ["2026-11-23-h100-programs"] },
  { name: "Triton 3.9, stopped inside", results: ["2026-12-01-h200-triton-3.9-same"] },
  { name: "vLLM", results: ["2026-12-01-h200-vllm-objectives"] },
  { name: "SGLang", results: ["2026-12-01-h200-sglang-objectives"] },
  ...["Triton Inference Server", "TorchServe", "TensorRT"].map((name) => ({
    name,
    results: [],
  })),
  { name: "containers", results: [] },
];

const pairs = [onH200Pair, onH100Pair];

const read = (name: string): Result =>
  JSON.parse(readFileSync(`bench/results/${name}.json`, "utf8"));

const majorOf = (driver: string): string => driver.split(".")[0] ?? "";

/** Where the machine of a result stands among the tested combinations. Throws if it is none of them. */
export function columnOf(name: string, { machine }: Pick<Result, "machine">): number {
  const column = testedCombinations.findIndex(
    ({ gpu, driver }) => gpu === machine.gpu && driver === majorOf(machine.driver),
  );
  if (column < 0)
    throw new Error(
      `${name} is from ${machine.gpu} with driver ${machine.driver}, which src/doctor/facts/tested.ts does not list`,
    );
  return column;
}

function outcome(result: Result, program: string | undefined): string {
  const { kind, programs, faults = [], cases, rows: all = [] } = result;
  if (typeof programs === "object")
    return programs.find((one) => one.program === program)?.identical ? "same bits" : "differs";
  if (typeof programs === "number") return `${programs - faults.length} of ${programs}`;
  const stopped = all.filter(({ same }) => same !== undefined);
  if (stopped.length > 0) return stopped.every(({ same }) => same) ? "same bits" : "differs";
  if (cases) return `${cases.filter((one) => one.startsWith("ok ")).length} of ${cases.length}`;
  return kind === "bench" ? "ran in a pair" : "served beside a training";
}

const link = (text: string, name: string): string => `[${text}](../../bench/results/${name}.json)`;

/** Lines of the table of programs. */
export function programTable(): readonly string[] {
  const heads = testedCombinations.map(({ gpu, driver }) => `${gpu}, driver ${driver}`);
  return [
    `| program | ${heads.join(" | ")} |`,
    `| --- |${" --- |".repeat(heads.length)}`,
    ...rows.map(({ name, results, program }) => {
      const cells = heads.map(() => "untested");
      for (const one of results) {
        const result = read(one);
        cells[columnOf(one, result)] = link(outcome(result, program), one);
      }
      return `| ${name} | ${cells.join(" | ")} |`;
    }),
  ];
}

/** Lines of the table of one pair on each GPU. */
export function pairTable(): readonly string[] {
  return [
    "| GPU, driver | pair | isolated | mps |",
    "| --- | --- | --: | --: |",
    ...pairs.map((name) => {
      const { machine, scenario, cells = [] } = read(name);
      const figures = ["strict-isolated", "strict-mps"].map((arrangement) => {
        const cell = cells.find((one) => one.arrangement === arrangement);
        const [p99, retained] = [cell?.high?.latency.p99.value, cell?.bestEffort?.retained.value];
        if (p99 === undefined || retained === undefined)
          throw new Error(`${name} has no figures of ${arrangement}`);
        return `${p99.toFixed(2)}x / ${Math.round(retained * 100)} %`;
      });
      const pair = link(scenario?.name ?? name, name);
      return `| ${machine.gpu}, ${machine.driver} | ${pair} | ${figures.join(" | ")} |`;
    }),
  ];
}
