// Tables made again from committed results.
import { basename } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "#core";
import { laboratory } from "#lab";
import { person } from "../cli/person.ts";

const { cotenant, refusal } = person("bench", laboratory);

const committed = (name: string) => `${packageRoot()}/bench/results/${name}.json`;
const older = committed("2026-11-20-h200-bench-bert-graph+bert-train");
const newer = committed("2026-11-22-h200-bench-bert-graph+bert-train@ours");

test("--latest takes ours from the newer result and a baseline that was not measured again from the older one", async () => {
  const shown = ["mps", "strict-isolated"].flatMap((name) => ["--arrangement", name]);
  const printed = await cotenant(
    "bench",
    "--from",
    "--latest",
    "--matrix",
    "--markdown",
    ...shown,
    older,
    newer,
  );
  const [head, , row] = printed.split("\n");
  expect(head).toBe("| high | best-effort | load | solo p99 | mps | strict-isolated |");
  expect(row).toMatch(/\| 1,655x \/ 94 % \| 1\.10x \/ 75 % \|$/);
});

test("without --latest the two are one mean, and every arrangement is shown", async () => {
  const printed = await cotenant("bench", "--from", "--matrix", "--markdown", older, newer);
  const [head, , row] = printed.split("\n");
  expect(head).toContain(
    "| time-slicing | mps | mps-priority | strict-isolated | strict-mps | floor |",
  );
  expect(row).toContain("| 1.06x / 75 % |");
});

test("a file that is named twice counts once", async () => {
  const again = `${packageRoot()}/bench/../bench/results/${basename(newer)}`;
  expect(await cotenant("bench", "--from", newer, again)).toBe(
    await cotenant("bench", "--from", newer),
  );
});

test("an arrangement that no result has is named, with those that they have", async () => {
  expect(await refusal("bench", "--from", "--arrangement", "reef-mps", newer)).toBe(
    'No result has the arrangement "reef-mps": they have solo, alone, floor, mps-priority, strict-isolated, strict-mps.',
  );
});

test("without --markdown tables are aligned, for terminals", async () => {
  const [head = "", ...rows] = (await cotenant("bench", "--from", "--matrix", newer)).split("\n");
  expect(head).toMatch(/^high +best-effort +load +solo p99 +mps-priority/);
  expect(head).not.toContain("|");
  expect(rows[0]).toHaveLength(head.length);
});
