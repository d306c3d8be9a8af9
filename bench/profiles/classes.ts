// Puts what classes.py found into the profiles beside it: `npx tsx bench/profiles/classes.ts FOLDER`. Of a kernel
// that was not looked at nothing changes; durations stay the recording's, since ncu runs a kernel by itself.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  formatProfile,
  importNcu,
  readProfileFile,
  type WorkloadProfile,
  withUtilisation,
} from "#profile";

const PROFILES = "bench/profiles/h200";
/** Jobs that run the same kernels. */
const jobs: Readonly<Record<string, readonly string[]>> = {
  "bert-graph": ["bert-graph", "bert-eager"],
  "resnet50-graph": ["resnet50-graph", "resnet50-eager"],
  "gpt2-train": ["gpt2-train"],
  "bert-train": ["bert-train"],
  "resnet50-train": ["resnet50-train"],
};

const [folder = ""] = process.argv.slice(2);
for (const [of, alike] of Object.entries(jobs)) {
  // A file for each set of metrics; one that was cut may hold no launch.
  const texts = readdirSync(folder)
    .filter((file) => file.startsWith(`${of}.`) && file.endsWith(".csv"))
    .sort()
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .filter((text) => /^"\d+",/m.test(text));
  if (texts.length === 0) continue;
  const file = join(folder, `${of}.*.csv`);
  for (const job of alike) {
    const path = join(PROFILES, `${job}.json`);
    const before = readProfileFile(path);
    const samples = importNcu(texts, { name: job, kind: before.kind, file, source: file });
    const kernels = withUtilisation(before, samples, file).kernels.map((kernel, i) => ({
      ...kernel,
      durationNs: before.kernels[i]?.durationNs ?? kernel.durationNs,
    }));
    writeFileSync(path, formatProfile({ ...before, kernels }));
    console.log(`${job}: ${summary({ ...before, kernels })}`);
  }
}

function summary({ kernels, sequence }: WorkloadProfile): string {
  const time = new Map<string, number>();
  let looked = 0;
  let all = 0;
  for (const step of sequence) {
    const kernel = "kernel" in step ? kernels[step.kernel] : undefined;
    if (!kernel) continue;
    const ns = kernel.durationNs.p50;
    all += ns;
    if (kernel.sm !== undefined) looked += ns;
    time.set(kernel.class, (time.get(kernel.class) ?? 0) + ns);
  }
  const part = (ns: number) => `${((100 * ns) / all).toFixed(0)} %`;
  const classes = [...time].map(([name, ns]) => `${name} ${part(ns)}`);
  return `utilisation of ${part(looked)} of the time; ${classes.join(", ")}`;
}
