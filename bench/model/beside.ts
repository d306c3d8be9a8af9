// The gain of best-effort work concurrent with a request, and the request's loss: a launch-bound one and one that keeps the
// GPU busy, on the modelled H200, in mode mps. The levels of `cotenant`, and deciding launch by launch; and the
// levels beside requests with recorded jobs (docs/design/decisions/0004). `npx tsx bench/model/beside.ts`
import { arrangementNamed, modelOf, planOf, runWindow } from "#gpu";
import { readProfileFile } from "#profile";
import { h200, type KernelShape, workload } from "../../test/gpu/example.ts";
import { poisson } from "./jobs.ts";
import { figuresOf, save } from "./windows.ts";

const LOAD = 0.3;
const SECONDS = 20;

const kernels = (count: number, of: (i: number) => KernelShape) =>
  Array.from({ length: count }, (_, i) => of(i));

/** As ResNet50, eager: launches of 11 us for kernels of 5. */
const launchBound = workload(
  "launch-bound",
  kernels(232, (i) => ({
    us: i % 8 === 0 ? 12 : 4,
    sms: i % 4 === 0 ? 132 : 48,
    sm: 0.3,
    memory: 0.3,
    gapUs: 11,
  })),
  { kind: "inference", soloNs: 2.6e6 },
);
/** As BERT-large in a graph. */
const busy = workload(
  "busy",
  kernels(714, (i) => ({
    us: i % 7 === 0 ? 8.2 : 2.7,
    sms: i % 7 === 0 ? 128 : 64,
    sm: 0.5,
    memory: 0.3,
  })),
  { kind: "inference", soloNs: 3.1e6 },
);
/** As the training of ResNet50: bound by launching in part. */
const training = workload(
  "training",
  kernels(910, (i) => ({
    us: i % 90 === 0 ? 250 : i % 3 === 0 ? 25 : 9,
    sms: i % 3 === 0 ? 264 : 132,
    sm: i % 3 === 0 ? 0.6 : 0.2,
    memory: i % 3 === 0 ? 0.3 : 0.6,
    class: i % 3 === 0 ? "compute" : "memory",
    gapUs: 18,
  })),
  { soloNs: 20e6 },
);

const arrangements = [
  "strict-mps",
  "strict-mps:chunkUs=156,chunkLaunches=32",
  "strict-mps:chunkUs=156,chunkLaunches=32,resumeDelayUs=0",
  "strict-mps:chunkUs=312,chunkLaunches=64,resumeDelayUs=0",
  "strict-mps:chunkUs=624,chunkLaunches=128,resumeDelayUs=0",
  "strict-mps:chunkUs=78,resumeDelayUs=0,coRunEveryUs=1248",
  "strict-mps:chunkUs=78,resumeDelayUs=0,coRunEveryUs=624",
  "strict-mps:chunkUs=78,resumeDelayUs=0,coRunEveryUs=312",
  "strict-mps:chunkUs=78,resumeDelayUs=0,coRunEveryUs=156",
  "strict-mps:chunkUs=200,resumeDelayUs=0,coRunEveryUs=800",
  "strict-mps:chunkUs=2000,chunkLaunches=128,resumeDelayUs=0,whenActive=allow",
  "strict-mps:submission=launch,whenActive=allowShort,smLimit=133,maxKernelUs=30,activeAheadUs=30",
  "orion-mps",
  "reef-mps",
  "mps-priority",
];

type Jobs = Pick<Parameters<typeof runWindow>[0], "high" | "bestEffort" | "seconds" | "gpu">;

const rowsOf = (name: string, jobs: Jobs, tried: readonly string[]) => {
  const figures = (arrangement: string) =>
    figuresOf(runWindow({ arrangement: arrangementNamed(arrangement), ...jobs }));
  const solo = figures("solo");
  const alone = figures("alone").perS[0] ?? 1;
  return tried.map((arrangement) => {
    const of = figures(arrangement);
    const row = {
      high: name,
      arrangement,
      retained: (of.perS[0] ?? 0) / alone,
      burstP50: of.burstP50Ms / solo.burstP50Ms,
      burstP99: of.burstP99Ms / solo.burstP99Ms,
    };
    console.log(
      `${name.padEnd(30)} ${arrangement.padEnd(96)} kept ${(100 * row.retained).toFixed(1)} % p50 ${row.burstP50.toFixed(2)} p99 ${row.burstP99.toFixed(2)}`,
    );
    return row;
  });
};

const rows = [launchBound, busy].flatMap((profile) => {
  const high = {
    profile,
    submission: profile === busy ? "graph" : "kernels",
    arrivalsNs: poisson((LOAD * 1e9) / (profile.soloNs ?? 1), SECONDS, 1),
  } as const;
  const bestEffort = [{ profile: training, submission: "kernels" } as const];
  return rowsOf(profile.name, { high, bestEffort, seconds: SECONDS, gpu: h200() }, arrangements);
});

/** From the longest chunks between requests to no hold, of a request of 3.7 ms, whose chunk is 110 us. */
const levels = [
  "chunkUs=880,chunkLaunches=128",
  "chunkUs=110,coRunEveryUs=1760",
  "chunkUs=110,coRunEveryUs=880",
  "chunkUs=110,coRunEveryUs=440",
  "chunkUs=110,coRunEveryUs=220",
  "chunkUs=2000,chunkLaunches=128,whenActive=allow",
].map((rules) => `strict-mps:resumeDelayUs=0,${rules}`);

const recorded = (name: string) =>
  ({
    profile: readProfileFile(`bench/profiles/h200/${name}.json`),
    submission: "kernels",
  }) as const;

const gpu = modelOf("H200");
const service = recorded("resnet50-eager");
const soloNs = planOf(service.profile, gpu, service.submission).soloNs;
const high = { ...service, arrivalsNs: poisson((LOAD * 1e9) / soloNs, SECONDS, 1) };
const pairs = ["resnet50-train", "bert-train", "gpt2-train"].flatMap((name) =>
  rowsOf(
    `resnet50-eager+${name}`,
    { high, bestEffort: [recorded(name)], seconds: SECONDS, gpu },
    levels,
  ),
);
save("model-beside", { load: LOAD, seconds: SECONDS, rows, pairs });
