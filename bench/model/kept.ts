// Throughput that `strict` retains of what turns could give, where the rest goes, and gains and costs of other rules:
// the nine pairs recorded on an H200, load 0.2, with ResNet50's training as fast as on the fastest machine measured.
// A cost is found by leaving it out. `npx tsx bench/model/kept.ts`
import { arrangementNamed, type GpuModel, modelOf, planOf, runWindow } from "#gpu";
import { readProfileFile, type WorkloadProfile } from "#profile";
import { poisson } from "./jobs.ts";
import { figuresOf, median, save } from "./windows.ts";

const PROFILES = "bench/profiles/h200";
const LOAD = 0.2;
const SECONDS = 15;
const SEED = 1;
/** Iterations a second alone (bench/results/2026-11-22-h200-bench-resnet50-graph+resnet50-train@policies.json). */
const RESNET50_PER_S = 56;

const gpu = modelOf("H200");

const profileOf = (name: string): WorkloadProfile => {
  const profile = readProfileFile(`${PROFILES}/${name}.json`);
  return name === "resnet50-train" ? { ...profile, soloNs: 1e9 / RESNET50_PER_S } : profile;
};
const job = (name: string) =>
  ({
    profile: profileOf(name),
    submission: name.endsWith("-graph") ? "graph" : "kernels",
    marks: false,
  }) as const;

/** Rules besides `strict`'s; 20 ms is as much as a chunk may be. */
const NO_DELAY = "resumeDelayUs=0";
const NO_BORDERS = "chunkUs=20000,chunkLaunches=128";
const { border, slices } = gpu;
const without: Readonly<Record<string, readonly [rules: string, on: GpuModel]>> = {
  nothing: ["", gpu],
  "resume delay": [NO_DELAY, gpu],
  "the borders' time on the GPU": ["", { ...gpu, border: { ...border, borderNs: 0 } }],
  "the borders' time on the CPU": ["", { ...gpu, border: { ...border, cpuNs: 0 } }],
  "switches of context": ["", { ...gpu, slices: { ...slices, switchNs: 0, preemptNs: 0 } }],
  "all of these": [
    NO_DELAY,
    {
      ...gpu,
      border: { ...border, borderNs: 0, cpuNs: 0 },
      slices: { ...slices, switchNs: 0, preemptNs: 0 },
    },
  ],
};

/** `requestUs`: alone. */
const others: Readonly<Record<string, (requestUs: number) => string>> = {
  "resume delay 75 us": () => "resumeDelayUs=75",
  "no resume delay": () => NO_DELAY,
  "twice the chunk": (us) => `chunkUs=${2 * chunkUs(us)}`,
  "a chunk that costs in borders what it adds to a request": (us) =>
    `chunkUs=${Math.round(Math.sqrt((2 * border.borderNs * us) / 1000))}`,
  "no borders to speak of": () => NO_BORDERS,
};
const chunkUs = (requestUs: number) => Math.max(50, Math.round(0.03 * requestUs));

const rows = ["resnet50-graph", "resnet50-eager", "bert-graph"].flatMap((service) =>
  ["resnet50-train", "bert-train", "gpt2-train"].flatMap((training) => {
    const high = job(service);
    const soloNs = planOf(high.profile, gpu, high.submission).soloNs;
    const arrivalsNs = poisson((LOAD * 1e9) / soloNs, SECONDS, SEED);
    const figures = (arrangement: string, on = gpu) =>
      figuresOf(
        runWindow({
          arrangement: arrangementNamed(arrangement),
          high: { ...high, arrivalsNs },
          bestEffort: [job(training)],
          seconds: SECONDS,
          gpu: on,
        }),
      );
    const solo = figures("solo");
    const alone = figures("alone").perS[0] ?? 1;
    const turns = 1 - (solo.highPerS * solo.burstP50Ms) / 1000;
    const ratios = (arrangement: string, on?: GpuModel) => {
      const { perS, burstP50Ms, burstP99Ms } = figures(arrangement, on);
      return {
        ofTurns: (perS[0] ?? 0) / alone / turns,
        burstP50: burstP50Ms / solo.burstP50Ms,
        burstP99: burstP99Ms / solo.burstP99Ms,
      };
    };
    return (["isolated", "mps"] as const).map((mode) => {
      const named = (rules: string) => `strict-${mode}${rules && `:${rules}`}`;
      const row = {
        pair: `${service}+${training}`,
        mode,
        turns,
        without: Object.fromEntries(
          Object.entries(without).map(([cost, [rules, on]]) => [cost, ratios(named(rules), on)]),
        ),
        others: Object.fromEntries(
          Object.entries(others).map(([name, rules]) => [
            name,
            ratios(named(rules(soloNs / 1000))),
          ]),
        ),
      };
      console.log(`${row.pair} ${mode}`);
      for (const [name, one] of Object.entries({ ...row.without, ...row.others }))
        console.log(
          `  ${name.padEnd(56)} of turns ${one.ofTurns.toFixed(3)} p50 ${one.burstP50.toFixed(3)} p99 ${one.burstP99.toFixed(3)}`,
        );
      return row;
    });
  }),
);

/** Against `strict`, medians and worst over the pairs of a mode. */
const gains = (["isolated", "mps"] as const).flatMap((mode) =>
  Object.keys(others).map((name) => {
    const here = rows.filter((row) => row.mode === mode);
    const against = (of: "ofTurns" | "burstP50" | "burstP99") =>
      here.map((row) => (row.others[name]?.[of] ?? 0) - (row.without.nothing?.[of] ?? 0));
    const [kept, p50, p99] = [against("ofTurns"), against("burstP50"), against("burstP99")];
    return {
      mode,
      name,
      kept: { median: median(kept), most: Math.max(...kept) },
      burstP50: { median: median(p50), most: Math.max(...p50) },
      burstP99: { median: median(p99), most: Math.max(...p99) },
    };
  }),
);
for (const gain of gains) console.log(JSON.stringify(gain));
save("model-kept", { load: LOAD, seconds: SECONDS, rows, gains });
