// Orion's published kernel profiles: all of them in COTENANT_DATA, else those in test/data.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { formatProfile, importOrion, parseProfile, readOrionFolder } from "#profile";

const folder = join(process.env.COTENANT_DATA ?? "test/data", "orion", "model_kernels");
const files = readdirSync(folder);

/** Rows, and their summed duration in ms. */
const published: Readonly<Record<string, readonly [number, number]>> = {
  bert_2_fwd: [572, 48.63],
  bert_8_fb1: [4777, 190.8],
  mobilenetv2_32_fb1: [890, 40.5],
  mobilenetv2_4_fwd: [152, 2.26],
  mobilenetv2_64_fb1: [890, 74.9],
  mobilenetv2_96_fb1: [890, 109.6],
  resnet101_32_fb1: [1847, 155.9],
  resnet101_4_fwd: [345, 11.57],
  resnet50_32_fb1: [946, 95.3],
  resnet50_4_fwd: [175, 6.5],
  transformer_xl_4_fwd: [459, 16.67],
  transformer_xl_8_fb1: [4354, 125.4],
};

describe("Orion's published profiles", () => {
  const profiles = readOrionFolder(folder, "eth-easl/orion@aded65d");

  test("have the rows and the time that were published", () => {
    const found = profiles.map(({ name, kernels, sequence }) => {
      const ns = sequence.flatMap((step) =>
        "kernel" in step ? [kernels[step.kernel]?.durationNs.p50 ?? 0] : [],
      );
      return [name, [ns.length, ns.reduce((sum, one) => sum + one, 0) / 1e6]];
    });
    const within = ([rows, ms]: readonly [number, number]) => [
      rows,
      expect.toSatisfy((sum: number) => Math.abs(sum / ms - 1) < 0.002),
    ];
    const said = Object.entries(published).filter(([name]) => files.includes(`${name}.csv`));
    expect(said.length).toBeGreaterThanOrEqual(5);
    expect(found).toEqual(said.map(([name, one]) => [name, within(one)]));
  });

  test("are read back as they were written", () => {
    for (const profile of profiles)
      expect(parseProfile(formatProfile(profile), profile.name)).toEqual(profile);
  });

  test("are all but the placeholders, which are refused as such", () => {
    const rest = files.filter((file) => !(file.replace(".csv", "") in published));
    expect(rest).not.toEqual([]);
    expect(rest.filter((file) => !file.endsWith("_fb0.csv"))).toEqual([]);
    for (const file of rest)
      expect(() => importOrion(readFileSync(join(folder, file), "utf8"), file, "orion")).toThrow(
        `${file}: it holds placeholders, no measurements.`,
      );
  });
});
