import fc from "fast-check";
import { expect, test } from "vitest";
import { alone, cell, failedCell, nasty, result, solo } from "./invented.ts";
import { markdownMatrix, markdownTable } from "./markdown.ts";
import { parseResult } from "./parse.ts";
import { escapeMarkdown } from "./pipes.ts";

const twoPairs = [
  result([
    cell("floor", 1.01, 0.6),
    solo(),
    alone(),
    cell("strict-mps", 1.084, 0.741, 1.034),
    cell("time-slicing", 4.69, 0.75, 2.5),
  ]),
  result([
    solo(),
    alone(),
    cell("strict-mps", 1.1, 0.75, 1.1),
    failedCell("time-slicing", "\n\u001b[31mOut of memory | on *GPU* 0\u001b[0m\nTraceback …"),
  ]),
  result([solo(), alone(), failedCell("strict-mps", "MPS did not start")], "resnet-graph", 0.05),
];

test("a table holds absolute figures for each side alone, ratios for the rest, and every failure", () => {
  expect(markdownTable(twoPairs).split("\n").slice(0, 12)).toEqual([
    "### bert-graph beside gpt2-train, load 0.2",
    "",
    "bert-graph; gpt2-train; poisson, 66.0/s; NVIDIA H200, driver 580.159; commit 0123456-dirty.",
    "",
    "| arrangement | requests | p50 | p99 [95 %] | burst p50 | burst p99 | retained | of turn bound | SM active | DRAM | clock | power | runs |",
    "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |",
    "| solo | 6,000 | 3.00 ms | 6.00 ms | 3.00 ms | 4.00 ms |  |  | 62 % | 31 % | 1,755 MHz | 512 W | 2 runs, ±0.0 % |",
    "| alone |  |  |  |  |  | 8.00/s |  | 62 % | 31 % | 1,755 MHz | 512 W | 2 runs, ±0.0 % |",
    "| time-slicing | 3,000 | 1.03x | 4.69x [4.22, 5.16] | 2.50x | 1.50x | 75 % |  | 62 % | 31 % | 1,755 MHz | 512 W | 1 run; 1 failed: Out of memory \\| on \\*GPU\\* 0 |",
    "| strict-mps | 6,000 | 1.03x | 1.09x [0.98, 1.21] | 1.07x | 1.50x | 75 % | 93 % | 62 % | 31 % | 1,755 MHz | 512 W | 2 runs, ±3.1 % |",
    "| floor | 3,000 | 1.03x | 1.01x [0.91, 1.11] | 1.00x | 1.50x | 60 % | 75 % | 62 % | 31 % | 1,755 MHz | 512 W | 1 run |",
    "",
  ]);
  expect(markdownTable(twoPairs)).toContain(
    "| strict-mps |  |  |  |  |  |  |  |  |  |  |  | failed: MPS did not start |",
  );
});

test("a high job that falls behind gets a column of its throughput", () => {
  const { high, ...rest } = cell("time-slicing", 9, 0.9);
  if (!high) throw new Error("a cell with both sides has a high one");
  const slow = { ...rest, high: { ...high, throughput: { ...high.throughput, value: 0.8 } } };
  expect(markdownTable([result([solo(), slow])])).toContain(
    "| burst p99 | throughput | retained |",
  );
  expect(markdownTable([result([solo(), slow])])).toContain("| 1.50x | 0.80x | 90 % |");
});

test("what requests waited is a column where it is known", () => {
  const { high, ...rest } = cell("strict-mps", 2, 0.9);
  if (!high) throw new Error("a cell with both sides has a high one");
  const told = { ...rest, high: { ...high, waitedMs: { p50: 0.02, p99: 0.6341 } } };
  const table = markdownTable([result([solo(), told])]);
  expect(table).toContain("| burst p99 | waited p99 | retained |");
  expect(table).toContain("| 1.50x | 0.63 ms | 90 % |");
  expect(markdownTable([result([solo()])])).not.toContain("waited p99");
});

test("times of tokens are columns where they are known, and a result with them can be read again", () => {
  const { high, ...rest } = cell("strict-mps", 2, 0.9);
  if (!high) throw new Error("a cell with both sides has a high one");
  const times = {
    ms: { p50: 30, p99: 41.25 },
    ratio: { p50: high.burst.p50, p99: high.latency.p99 },
  };
  const alone = { ...high, ttft: times, tpot: times };
  const table = markdownTable([
    parseResult(
      JSON.stringify(
        result([
          { ...rest, arrangement: "solo", high: alone },
          { ...rest, high: alone },
        ]),
      ),
      "f",
    ),
  ]);
  expect(table).toContain("| burst p99 | TTFT p50 | TTFT p99 | TPOT p50 | TPOT p99 | retained |");
  expect(table).toContain("| 30.0 ms | 41.3 ms | 30.0 ms | 41.3 ms |");
  expect(table).toContain("| 1.00x | 2.00x | 1.00x | 2.00x |");
});

test("what comes over PCIe is a column where it is known", () => {
  const { gpu, ...rest } = cell("strict-mps", 2, 0.9);
  if (!gpu) throw new Error("a cell has the GPU's figures");
  const table = markdownTable([result([{ ...rest, gpu: { ...gpu, pcieInMiBs: 5611.4 } }])]);
  expect(table).toContain("| DRAM | PCIe in | clock |");
  expect(table).toContain("| 31 % | 5,611 MiB/s |");
  expect(markdownTable([result([cell("strict-mps", 2, 0.9)])])).not.toContain("PCIe in");
});

test("a load that changes has a table of its steps", () => {
  const step = (ratePerS: number, settledMs?: number) => ({
    ratePerS,
    seconds: 5,
    latency: { p50: 1, p99: 1.2 },
    retained: 0.8,
    settledMs,
  });
  const text = markdownTable([
    result([solo(), { ...cell("strict-mps", 1.1, 0.75), steps: [step(20), step(100, 340)] }]),
  ]);
  expect(text).toContain("| arrangement | 5 s at 20.0/s | 5 s at 100/s |");
  expect(text).toContain("| strict-mps | 1.20x / 80 % after never | 1.20x / 80 % after 0.34 s |");
});

test("the matrix says p99 and kept, what failed and what is missing", () => {
  expect(markdownMatrix(twoPairs)).toBe(
    [
      "| high | best-effort | load | solo p99 | time-slicing | strict-mps | floor |",
      "| --- | --- | --- | --: | --: | --: | --: |",
      "| bert-graph | gpt2-train | 0.2 | 6.00 ms | 4.69x / 75 % | 1.09x / 75 % | 1.01x / 60 % |",
      "| resnet-graph | gpt2-train | 0.05 | 6.00 ms | – | failed | – |",
      "",
    ].join("\n"),
  );
});

test("without results there is no table", () => {
  expect(markdownTable([])).toBe("No results.\n");
  expect(markdownMatrix([])).toBe("No results.\n");
});

test("no name can break out of its cell", () => {
  fc.assert(
    fc.property(nasty, nasty, (name, why) => {
      const lines = markdownMatrix([result([failedCell("mps", why)], name)]).split("\n");
      expect(lines).toHaveLength(4);
      expect(lines[2]?.match(/(?<!\\)(\\\\)*\|/g)).toHaveLength(6);
    }),
  );
  expect(escapeMarkdown("a|b\n<i> [x](y)")).toBe("a\\|b \\<i\\> [x]\\(y)");
});

test("what taking turns could give says nothing where nobody takes turns", () => {
  const lines = markdownTable([result([solo(), alone(), cell("off-mps", 1, 0.9)])]).split("\n");
  expect(lines.find((line) => line.startsWith("| off-mps"))).toContain("| 90 % |  | 62 % |");
});
