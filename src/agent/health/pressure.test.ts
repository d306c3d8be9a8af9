import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { hostPressure } from "./pressure.ts";

test("pressure is read as the kernel writes it, and is unknown where it does not", () => {
  const folder = mkdtempSync(`${tmpdir()}/cotenant-pressure-`);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(
    `${folder}/memory`,
    "some avg10=21.10 avg60=0.00 avg300=0.00 total=1\nfull avg10=12.50 avg60=0.00 avg300=0.00 total=1\n",
  );
  writeFileSync(`${folder}/cpu`, "some avg10=78.94 avg60=54.18 avg300=22.22 total=121993279\n");
  expect(hostPressure(folder)).toEqual({ memory: 0.125, cpu: 0.7894 });
  rmSync(`${folder}/memory`);
  expect(hostPressure(folder).memory).toBeUndefined();
});
