import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
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

test("groups names an operator that no layer is, and goes on", async () => {
  const words = ["soc", "groups", "bench/soc/googlenet.onnx", "--without", "dla=maxpool,Resize"];
  const { stdout, stderr } = await promisify(execFile)("bin/cotenant-lab", words);
  expect(stdout).toContain("one tensor crosses");
  expect(stderr).toMatch(
    /^soc groups: --without dla=maxpool: no layer of bench\/soc\/googlenet\.onnx is one\. Did you mean "MaxPool"\?\nsoc groups: --without dla=Resize: no layer of \S+ is one\. Its operators: .*Conv.*\.\n$/,
  );
});
