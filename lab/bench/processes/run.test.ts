// Waves, with jobs that sleep instead of using a GPU.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, expect, test } from "vitest";
import type { Bytes } from "#core";
import { alone, arrangementNamed, solo } from "../scenario/arrangements.ts";
import type { Scenario } from "../scenario/scenario.ts";
import { noGpuWatch } from "./gpu-watch.ts";
import { Places } from "./places.ts";
import { Measurement } from "./run.ts";

const directory = mkdtempSync(`${tmpdir()}/cotenant-waves-test-`);
afterAll(() => rmSync(directory, { recursive: true }));

/** For a busy machine. */
const PATIENCE_MS = 280_000;

const job = (kind: "serve" | "train", gib: number) => ({
  name: kind,
  run: [kind],
  memory: (gib * 2 ** 30) as Bytes,
  startsAlone: false,
  profile: undefined,
});

const scenario: Scenario = {
  name: "test",
  high: job("serve", 2),
  bestEffort: [job("train", 30)],
  arriving: { kind: "poisson", rate: 0.2 },
  arrangements: [solo, alone, ...["mps", "streams", "mps-50"].map(arrangementNamed)],
  rounds: 1,
  requests: 20,
  seconds: 0.5,
  learn: 1.5,
  slo: [],
};

const pids = () =>
  readdirSync(directory)
    .filter((file) => file.endsWith(".pid"))
    .map((file) => ({
      name: file.replace(".pid", ""),
      pid: readFileSync(`${directory}/${file}`, "utf8").trim(),
    }));

test(
  "in a wave only its own processes live, one that a later wave needs again is started again",
  async () => {
    const alive: string[][] = [];
    const launched: string[] = [];
    const measurement = new Measurement(scenario, {
      directory,
      places: new Places({
        directory,
        gpu: "soft",
        uuid: undefined,
        cotenant: [],
        softGpuFolder: () => directory,
        uid: process.getuid?.() ?? 0,
      }),
      watch: noGpuWatch,
      // Enough for the native pair and one more.
      memory: 64 * 2 ** 30,
      stop: new AbortController().signal,
      command: ({ name, high }) => {
        launched.push(name);
        const kind = high ? "serve" : "train";
        const fake = `python3 test/bench/fake.py ${kind} --us 5000`;
        return ["sh", "-c", `echo $$ >${directory}/${name}.pid; exec ${fake} "$@"`, "fake"];
      },
      say: () => {},
      step: (line) => {
        if (!line.endsWith("round 1 of 1")) return;
        const living = pids().filter(({ pid }) => existsSync(`/proc/${pid}`));
        alive.push(living.map(({ name }) => name).sort());
      },
    });
    const measured = await measurement.run().finally(() => measurement.end());
    expect(measured.cutShort).toBeUndefined();
    const native = ["be1-native", "high-native"];
    const limited = "be1-mps-cuda-mps-active-thread-percentage-50";
    // The fake jobs cannot be streams of one process, so the process of that wave has ended.
    expect(alive).toEqual([
      ["be1-mps", "be1-native", "high-mps", "high-native"],
      native,
      [limited, "be1-native", "high-mps", "high-native"],
    ]);
    expect(launched.filter((name) => name === "high-mps")).toHaveLength(2);
    expect([...measured.failures.keys()]).toEqual(["streams"]);
  },
  PATIENCE_MS,
);
