import { keptIn, played, violated } from "#llm-model";
import { at, fast, large, limitsAlone, vllm } from "./shapes.ts";
const shapes = { fast: [fast, [3, 6, 10]], large: [large, [1, 1.6, 2.6]], vllm: [vllm, [4, 12]] } as const;
const [name, loads] = shapes[process.argv[2] as keyof typeof shapes];
const seeds = process.argv[3]!.split(",").map(Number);
let k = 0, b = 0, n = 0;
for (const perS of loads) for (const seed of seeds) {
  const alone = at(name, () => perS, { seconds: 1000, seed });
  const run = { ...alone, limits: limitsAlone(alone) };
  const strict = violated(played({ ...run, fixed: "strict" }), run.limits, 30, 1000);
  const outcome = played(run);
  const broken = violated(outcome, run.limits, 30, 1000) - strict;
  const kept = keptIn(outcome, 60);
  k += kept; b += broken; n += 1;
  console.log(process.env.TAG, process.argv[2], perS, seed, kept.toFixed(3), broken.toFixed(4), JSON.stringify(run.limits));
}
console.log("MEAN", process.env.TAG, process.argv[2], (k / n).toFixed(4), (b / n).toFixed(4), n);
