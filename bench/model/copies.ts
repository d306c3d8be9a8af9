// A copying request beside a copying job, as bench/scenarios/copies.json, on the modelled H200 in mode mps: what the levels of
// `cotenant` give there, what pieces of other sizes would, and how long it takes to learn. `npx tsx bench/model/copies.ts`
import { type Arrangement, arrangementNamed, modelOf, planOf, runWindow } from "#gpu";
import type { WorkloadProfile } from "#profile";
import { workload } from "../../test/gpu/example.ts";
import { poisson } from "./jobs.ts";
import { figuresOf, save } from "./windows.ts";

const LOAD = 0.2;
const SECONDS = 20;
const SLOWDOWN = 0.1;
const LEARN_SECONDS = [5, 10, 20] as const;
const MIB = 2 ** 20;
const gpu = modelOf("H200");

/** Four kernels of 100 us between a copy in and a copy out. */
function copying(name: string, kind: WorkloadProfile["kind"], inMiB: number, outMiB: number) {
  const kernels = workload(
    name,
    Array.from({ length: 4 }, () => ({ us: 100, gapUs: 3 })),
    { kind },
  );
  const sequence = [
    { copy: "in", bytes: inMiB * MIB } as const,
    ...kernels.sequence,
    { copy: "out", bytes: outMiB * MIB } as const,
  ];
  return { profile: { ...kernels, sequence }, submission: "kernels" } as const;
}

const high = copying("request", "inference", 16, 4);
const bestEffort = [copying("job", "training", 64, 16)];
const perS = (LOAD * 1e9) / planOf(high.profile, gpu, "kernels").soloNs;

function figures(arrangement: Arrangement, learnSeconds = 0) {
  const seconds = SECONDS + learnSeconds;
  const window = runWindow({
    arrangement,
    high: {
      ...high,
      arrivalsNs: poisson(perS, seconds, 1),
      objective: { p99Us: undefined, slowdown: SLOWDOWN },
    },
    bestEffort,
    seconds,
    gpu,
  });
  const settledNs = Math.max(window.settledNs, window.startNs + learnSeconds * 1e9);
  const requests = window.requests.filter(({ arrivalNs }) => arrivalNs >= settledNs);
  return { ...figuresOf({ ...window, settledNs, requests }), level: window.level };
}

const solo = figures(arrangementNamed("solo"));
const alone = figures(arrangementNamed("alone")).perS[0] ?? 1;

/** The fourth level's rules with other pieces, in MiB. */
const level4 = (pieces: number) =>
  `strict-mps:resumeDelayUs=0,chunkUs=400,chunkLaunches=128,copyPieceBytes=${pieces * MIB}`;
const cells = [
  ...["mps-priority", "strict-isolated", "strict-mps", level4(2), level4(4), level4(8)].map(
    (name) => ({ name, learnSeconds: 0 }),
  ),
  ...LEARN_SECONDS.map((learnSeconds) => ({ name: "cotenant-mps", learnSeconds })),
].map(({ name, learnSeconds }) => {
  const {
    perS: done,
    burstP50Ms,
    burstP99Ms,
    level,
  } = figures(arrangementNamed(name), learnSeconds);
  const cell = {
    name,
    learnSeconds,
    level,
    kept: (done[0] ?? 0) / alone,
    burstP50: burstP50Ms / solo.burstP50Ms,
    burstP99: burstP99Ms / solo.burstP99Ms,
  };
  console.log(JSON.stringify(cell));
  return cell;
});
save("model-copies", { load: LOAD, seconds: SECONDS, slowdown: SLOWDOWN, cells });
