import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { laboratory } from "#lab";
import { person } from "../cli/person.ts";

const { folder, cotenant } = person("soc", laboratory);

const file = "bench/soc/googlenet-xavier.json";

test("plan says how good it is and writes the picture and the plan", async () => {
  const [svg, out] = [join(folder, "a.svg"), join(folder, "a.json")];
  expect(await cotenant("soc", "plan", file, "--svg", svg, "--out", out)).toMatch(
    /^3\.121 ms, optimal/,
  );
  // 20 groups and two transitions.
  expect(readFileSync(svg, "utf8").match(/<title>/g)).toHaveLength(22);
  const plan = JSON.parse(readFileSync(out, "utf8"));
  expect(plan).toMatchObject({ version: 1, optimal: true, priority: { gpu: expect.any(Array) } });
  expect(plan.networks[0].groups).toHaveLength(10);
});

test("compare has the plan last, and nobody is better", async () => {
  const { rows } = JSON.parse(await cotenant("soc", "compare", file, "--json"));
  const latencies = rows.map((row: { latencyMs: number }) => row.latencyMs);
  expect(Math.min(...latencies)).toBeGreaterThan(0.9999 * latencies.at(-1));
});
