import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "#core";
import { Lines } from "./lines.ts";

test("each whole line is seen once, with the time of the sample, and a progress bar's lines are lines", () => {
  const folder = temporaryFolder("lines-test");
  const path = join(folder, "log");
  writeFileSync(path, "before\nha");
  let now = 1;
  const seen: [string, number][] = [];
  const lines = new Lines(
    path,
    () => now,
    (line, atNs) => seen.push([line, atNs]),
  );
  onTestFinished(() => {
    lines.close();
    rmSync(folder, { recursive: true });
  });
  lines.look();
  now = 2;
  appendFileSync(path, "lf\r10 %\r20 %\rrest");
  lines.look();
  expect(seen).toEqual([
    ["before", 1],
    ["half", 2],
    ["10 %", 2],
    ["20 %", 2],
  ]);
});
