import { describe, expect, test } from "vitest";
import { isMeasured, readKace } from "./kace.ts";

describe("KACE's tables", () => {
  const shares = Array.from({ length: 10 }, (_, i) => 10 * (i + 1));
  const line = (name: string, speeds: readonly number[]) => `${name},${speeds.join(",")}\n`;
  const solo = `workload,${shares.join(",")}\n${line("a-inf", shares)}${line(
    "b-train",
    shares.map((s) => Math.min(s, 80) / 8),
  )}`;
  const split = shares.map((s) => (s === 100 ? '"(LS100, BE100)"' : `"(LS${s}, BE${100 - s})"`));
  const cells = shares.map((s) =>
    s === 100 ? '"(80.0, 5.0)"' : s === 50 ? "None" : `"(${s}, ${(100 - s) / 10})"`,
  );
  const pairs = `workload1,workload2,${split.join(",")}\na-inf,b-train,${cells.join(",")}\n`;
  const labels =
    "Type,Exclusive100,sm%,mem%,memcap,Exclusive50\na-inf,100,50,10,2,50\nb-train,10,90,30,9,6\nunmeasured-train,1,1,1,1,1\n";

  test("give workloads, and the retained throughput of pairs", () => {
    const measured = readKace({ solo, pairs, labels });
    expect(measured.workloads.map(({ name, role }) => [name, role])).toEqual([
      ["a-inf", "online"],
      ["b-train", "offline"],
    ]);
    const [online, offline] = measured.workloads;
    if (!online || !offline) throw new Error("two workloads");
    expect(isMeasured(measured, online, offline)).toBe(true);
    expect(isMeasured(measured, online, online)).toBe(false);
    // Unrestricted, the values are as measured: 80 of 100 and 5 of 10.
    expect(measured.truth.together(online, offline, 1)).toEqual({ online: 0.8, offline: 0.5 });
    // At 40 %, each side loses 0.4 of its unrestricted loss, and the offline side has 0.4 of the SMs.
    const part = measured.truth.together(online, offline, 0.4);
    expect(part.online).toBeCloseTo(1 - 0.2 * 0.4);
    expect(part.offline).toBeCloseTo(0.4 * (1 - 0.5 * 0.4));
  });

  test.each([
    [
      "a cell that is no pair",
      pairs.replace('"(80.0, 5.0)"', '"(80.0; 5.0)"'),
      labels,
      /merged….csv, line 2: \(LS100, BE100\) can't be read/,
    ],
    [
      "a negative throughput",
      pairs.replace("(80.0,", "(-1,"),
      labels,
      /line 2: \(LS100, BE100\) can't be read/,
    ],
    [
      "a metric that is no number",
      pairs,
      labels.replace("90", "NaN"),
      /labels.csv, line 3: sm% is "NaN"/,
    ],
  ])("%s is named", (_, badPairs, badLabels, message) => {
    expect(() => readKace({ solo, pairs: badPairs, labels: badLabels })).toThrow(message);
  });
});
