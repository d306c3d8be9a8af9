// What best-effort work gains beside a request, and what that costs the request: a launch-bound one and one
// that keeps the GPU busy, on the modelled H200, in mode mps. The levels of `cotenant`, and deciding launch by
// launch (docs/decisions/0004). `npx tsx bench/model/beside.ts`
import { arrangementNamed, runWindow } from "#gpu";
import { h200, type KernelShape, workload } from "../../src/gpu/example.ts";
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
  "strict-mps:chunkUs=78,resumeDelayUs=0,besideEveryUs=312",
  "strict-mps:chunkUs=78,resumeDelayUs=0,besideEveryUs=156",
  "strict-mps:chunkUs=200,resumeDelayUs=0,besideEveryUs=800",
  "strict-mps:chunkUs=2000,chunkLaunches=128,resumeDelayUs=0,whenActive=allow",
  "strict-mps:submission=launch,whenActive=allowShort,smLimit=133,maxKernelUs=30,activeAheadUs=30",
  "orion-mps",
  "reef-mps",
  "mps-priority",
];

const rows = [launchBound, busy].flatMap((profile) => {
  const jobs = {
    high: {
      profile,
      submission: profile === busy ? "graph" : "kernels",
      arrivalsNs: poisson((LOAD * 1e9) / (profile.soloNs ?? 1), SECONDS, 1),
    } as const,
    bestEffort: [{ profile: training, submission: "kernels" } as const],
    seconds: SECONDS,
    gpu: h200(),
  };
  const figures = (name: string) =>
    figuresOf(runWindow({ arrangement: arrangementNamed(name), ...jobs }));
  const solo = figures("solo");
  const alone = figures("alone").perS[0] ?? 1;
  return arrangements.map((arrangement) => {
    const of = figures(arrangement);
    const row = {
      high: profile.name,
      arrangement,
      retained: (of.perS[0] ?? 0) / alone,
      burstP50: of.burstP50Ms / solo.burstP50Ms,
      burstP99: of.burstP99Ms / solo.burstP99Ms,
    };
    console.log(
      `${row.high.padEnd(14)} ${arrangement.padEnd(96)} kept ${(100 * row.retained).toFixed(0)} % p50 ${row.burstP50.toFixed(2)} p99 ${row.burstP99.toFixed(2)}`,
    );
    return row;
  });
});
save("model-beside", { load: LOAD, seconds: SECONDS, rows });
