// docs/results/tested.md and the doctor speak of the same GPUs and drivers.
import { expect, test } from "vitest";
import { testedCombinations } from "#doctor";
import { columnOf, programTable } from "../../bench/tested/matrix.ts";

test("a result counts for the combination of its machine, whatever the minor version of the driver", () => {
  const machine = { gpu: "NVIDIA H100 80GB HBM3", driver: "580.1" };
  expect(testedCombinations[columnOf("a result", { machine })]?.gpu).toBe(machine.gpu);
});

test.each([
  { gpu: "NVIDIA H100 80GB HBM3", driver: "575.1" },
  { gpu: "NVIDIA A100", driver: "580.1" },
])("a result from $gpu with driver $driver has no column", (machine) => {
  expect(() => columnOf("a result", { machine })).toThrow(
    `a result is from ${machine.gpu} with driver ${machine.driver}, which src/doctor/facts/tested.ts does not list`,
  );
});

test("each combination that the doctor calls tested has a result", () => {
  const [, , ...rows] = programTable();
  testedCombinations.forEach((_, column) => {
    const cells = rows.map((row) => row.split(" | ")[column + 1]);
    expect(cells.some((cell) => cell?.includes("bench/results/"))).toBe(true);
  });
});
