// The documents that show the nine pairs, with their tables and the chart as the results have them.
import { readFileSync } from "node:fs";
import { chart } from "#bench";
import { readGaps, readPairs } from "./pairs.ts";
import { everyRun, landing, overview, toTheFloor } from "./tables.ts";

/** The words of the tables. */
const wording = {
  title: "What the service pays, and what the training retains",
  high: "service",
  throughput: "training throughput retained",
  names: new Map([
    ["bert-graph", "BERT-large"],
    ["bert-train", "BERT-large fp32"],
    ["gpt2-train", "GPT-2-large"],
    ["resnet50-graph", "ResNet50"],
    ["resnet50-eager", "ResNet50, eager"],
    ["resnet50-train", "ResNet50"],
    ["time-slicing", "time slicing"],
    ["mps", "MPS"],
    ["mps-priority", "MPS + priority"],
    ["strict-isolated", "strict, isolated"],
    ["strict-mps", "strict, mps"],
    ["floor-mps", "floor, mps"],
  ]),
};

/** Path from the repository's root → what it should hold. */
export function sharingDocuments(): Readonly<Record<string, string>> {
  const pairs = readPairs();
  const tables = new Map([
    ["landing", landing(pairs, readGaps())],
    ["pairs", overview(pairs)],
    ["to the floor", toTheFloor(pairs)],
    ["every run", everyRun(pairs)],
  ]);
  const filled = (path: string) => [path, withTables(readFileSync(path, "utf8"), tables)] as const;
  return {
    ...Object.fromEntries(
      ["README.md", "docs/results/nine-pairs.md", "docs/results/nine-pairs-more.md"].map(filled),
    ),
    "docs/results/charts/slowdown.svg": chart(
      pairs.flatMap(({ counted }) => counted),
      { wording },
    ),
  };
}

/** Replaces the text between `<!-- table NAME: … -->` and `<!-- end -->`. Throws where the text has no table at all. */
export function withTables(text: string, tables: ReadonlyMap<string, readonly string[]>): string {
  const marked = /(<!-- table ([^:]+): [^>]*-->\n)[\s\S]*?(<!-- end -->)/g;
  if (!marked.test(text)) throw new Error("no table is marked in it");
  return text.replace(marked, (_, begin: string, name: string, end: string) => {
    const lines = tables.get(name);
    if (!lines) throw new Error(`there is no table "${name}"`);
    return `${begin}\n${lines.join("\n")}\n\n${end}`;
  });
}
