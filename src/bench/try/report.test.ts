import { expect, test } from "vitest";
import { tryReport } from "./report.ts";
import type { TryResult } from "./try.ts";
import type { WayName } from "./ways.ts";

const commandsFor = (arrangement: WayName, slo?: string) => {
  const result: TryResult = {
    version: 1,
    kind: "try",
    date: "",
    machine: { gpu: "", driver: "", cpu: "", cpus: 2 },
    command: "",
    seconds: 5,
    rounds: 3,
    accepted: 0.2,
    skipped: [],
    strangers: [],
    rows: [],
    unit: "launches",
    judged: "bursts",
    noise: {
      noisy: false,
      spread: undefined,
      cpu: { busyBefore: 0, stealShare: 0, waitShare: 0 },
      sentence: "",
    },
    verdict: { choice: "cotenant", arrangement, slo, sentence: "" },
  };
  return tryReport(result)
    .split("\n")
    .filter((line) => line.startsWith("    cotenant"))
    .map((line) => line.trim());
};

test("the commands start what was measured", () => {
  expect(commandsFor("time-slicing")).toEqual([]);
  expect(commandsFor("mps-priority")[0]).toBe("cotenant up --mode mps --policy off");
  expect(commandsFor("cotenant-isolated", "slowdown=20%")).toEqual([
    "cotenant up --mode isolated",
    "cotenant run --class high --slo slowdown=20% -- SERVICE",
    "cotenant run --class best-effort -- TRAINING",
  ]);
  expect(commandsFor("strict-mps")[0]).toBe("cotenant up --mode mps --policy strict");
});
