// Tables made again from committed results.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { UserError } from "#core";
import { dispatch } from "./dispatch.ts";
import { packageRoot } from "./package.ts";

let said: string[] = [];
beforeEach(() => {
  said = [];
  vi.spyOn(console, "log").mockImplementation((line) => void said.push(String(line)));
});
afterEach(() => void vi.restoreAllMocks());

const committed = (name: string) => `${packageRoot()}/bench/results/${name}.json`;
const older = committed("2026-11-20-h200-bench-bert-graph+bert-train");
const newer = committed("2026-11-22-h200-bench-bert-graph+bert-train@ours");

test("--latest takes ours from the newer result and a rival that was not measured again from the older one", async () => {
  const shown = ["mps", "strict-isolated"].flatMap((name) => ["--arrangement", name]);
  expect(await dispatch(["bench", "--from", "--latest", "--matrix", ...shown, older, newer])).toBe(
    0,
  );
  const [head, , row] = said.join("\n").split("\n");
  expect(head).toBe("| high | best-effort | load | solo p99 | mps | strict-isolated |");
  expect(row).toMatch(/\| 1,655x \/ 94 % \| 1\.10x \/ 75 % \|$/);
});

test("without --latest the two are one mean, and every arrangement is shown", async () => {
  expect(await dispatch(["bench", "--from", "--matrix", older, newer])).toBe(0);
  const [head, , row] = said.join("\n").split("\n");
  expect(head).toContain(
    "| time-slicing | mps | mps-priority | strict-isolated | strict-mps | floor |",
  );
  expect(row).toContain("| 1.06x / 75 % |");
});

test("an arrangement that no result has is named, with those that they have", async () => {
  const fault = await dispatch(["bench", "--from", "--arrangement", "reef-mps", newer]).catch(
    (thrown: unknown) => thrown,
  );
  expect(fault).toBeInstanceOf(UserError);
  expect((fault as UserError).message).toBe(
    'No result has the arrangement "reef-mps": they have solo, alone, floor, mps-priority, strict-isolated, strict-mps.',
  );
});
