// Could Orion's class test be asked of the kernel that runs now inside a service's graph, when only the graph's launch
// and its profile are known? How often the class at the expected place is that of the kernel at the true one; and what the
// test is worth when the kernel that runs is known exactly, as it is to the model. `npx tsx bench/model/graph-class.ts`
import { arrangementNamed, modelOf, type Plan, planOf, runWindow } from "#gpu";
import { readProfileFile } from "#profile";
import { poisson } from "./jobs.ts";
import { figuresOf, save } from "./windows.ts";

const PROFILES = "bench/profiles/h200";
const LOAD = 0.2;
const SECONDS = 15;
const STEP_NS = 500;
/** From the decision to launch until the kernel runs (docs/results/hardware.md). */
const LAUNCH_NS = 5000;
/** A graph runs so much longer than alone: what MPS and a neighbour's traces in the caches cost. */
const LONGER = [0, 0.02, 0.05, 0.1] as const;
const gpu = modelOf("H200");

const job = (name: string) =>
  ({
    profile: readProfileFile(`${PROFILES}/${name}.json`),
    submission: name.endsWith("-graph") ? "graph" : "kernels",
    marks: false,
  }) as const;

interface Timeline {
  readonly lengthNs: number;
  readonly classAt: (ns: number) => number;
  readonly stretches: number;
}

function timelineOf({ length, durationNs, bubbleNs, kernelClass }: Plan): Timeline {
  const ends: number[] = [];
  for (let step = 0; step < length; step++)
    ends.push((ends.at(-1) ?? 0) + (durationNs[step] ?? 0) + (bubbleNs[step] ?? 0));
  const changes = [...kernelClass].filter((one, i) => i > 0 && one !== kernelClass[i - 1]);
  return {
    lengthNs: ends.at(-1) ?? 0,
    classAt: (ns) => kernelClass[ends.findIndex((end) => end > ns)] ?? 0,
    stretches: changes.length + 1,
  };
}

/** The class expected at the launch, of the graph as profiled, against that of the kernel met. */
function agreement({ lengthNs, classAt }: Timeline, longer: number) {
  let [same, all] = [0, 0];
  for (let ns = LAUNCH_NS; ns < lengthNs * (1 + longer); ns += STEP_NS, all++)
    if (classAt(ns - LAUNCH_NS) === classAt(ns / (1 + longer))) same++;
  return same / all;
}

/** Two moments that have nothing to do with each other. */
function byChance({ lengthNs, classAt }: Timeline) {
  const seen = [0, 0, 0];
  for (let ns = 0; ns < lengthNs; ns += STEP_NS) {
    const at = classAt(ns);
    seen[at] = (seen[at] ?? 0) + 1;
  }
  const all = seen.reduce((sum, n) => sum + n, 0);
  return seen.reduce((sum, n) => sum + (n / all) ** 2, 0);
}

const services = ["resnet50-graph", "bert-graph"];
const timelines = services.map((name) => {
  const timeline = timelineOf(planOf(job(name).profile, gpu, "graph"));
  return {
    name,
    meanStretchUs: timeline.lengthNs / timeline.stretches / 1000,
    byChance: byChance(timeline),
    agreement: LONGER.map((longer) => ({ longer, part: agreement(timeline, longer) })),
  };
});

/** With the class test, without it, and with nothing beside a request. */
const rules = { orion: "", "no class test": ":whenActive=allowShort", nothing: ":smLimit=0" };
const pairs = services.flatMap((service) =>
  ["resnet50-train", "gpt2-train"].map((training) => {
    const high = job(service);
    const { soloNs } = planOf(high.profile, gpu, "graph");
    const figures = (name: string) =>
      figuresOf(
        runWindow({
          arrangement: arrangementNamed(name),
          high: { ...high, arrivalsNs: poisson((LOAD * 1e9) / soloNs, SECONDS, 1) },
          bestEffort: [job(training)],
          seconds: SECONDS,
          gpu,
        }),
      );
    const [solo, alone] = [figures("solo"), figures("alone")];
    const cells = Object.entries(rules).map(([name, rule]) => {
      const { perS, burstP50Ms, burstP99Ms } = figures(`orion-mps${rule}`);
      return {
        name,
        kept: (perS[0] ?? 0) / (alone.perS[0] ?? 1),
        burstP50: burstP50Ms / solo.burstP50Ms,
        burstP99: burstP99Ms / solo.burstP99Ms,
      };
    });
    return { pair: `${service}+${training}`, cells };
  }),
);
console.log(JSON.stringify({ timelines, pairs }, undefined, 1));
save("model-graph-class", { load: LOAD, seconds: SECONDS, launchNs: LAUNCH_NS, timelines, pairs });
