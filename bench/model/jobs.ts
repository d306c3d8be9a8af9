// The jobs of Orion's evaluation, from the profiles that its artifact publishes: COTENANT_DATA says where they
// are, else they are looked for beside the repository.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sfc32 } from "#core";
import type { Job } from "#gpu";
import { arrivalTimes } from "#load";
import { readOrionFolder, type WorkloadProfile } from "#profile";
import { dataFolder } from "../data.ts";

const folder = join(dataFolder, "orion");

export const models = ["resnet50", "mobilenetv2", "resnet101", "bert", "transformer"] as const;
export type Model = (typeof models)[number];

/** The models with a trace of arrivals. */
export const visionModels = ["resnet50", "mobilenetv2", "resnet101"] as const;

const inferences: Readonly<Record<Model, string>> = {
  resnet50: "resnet50_4_fwd",
  mobilenetv2: "mobilenetv2_4_fwd",
  resnet101: "resnet101_4_fwd",
  bert: "bert_2_fwd",
  transformer: "transformer_xl_4_fwd",
};

/** With iterations a second on a dedicated GPU: Table 4. */
const trainings: Readonly<Record<Model, { readonly file: string; readonly perS: number }>> = {
  resnet50: { file: "resnet50_32_fb1", perS: 10.3 },
  mobilenetv2: { file: "mobilenetv2_64_fb1", perS: 12.5 },
  resnet101: { file: "resnet101_32_fb1", perS: 6.3 },
  bert: { file: "bert_8_fb1", perS: 4.91 },
  transformer: { file: "transformer_xl_8_fb1", perS: 6 },
};

/** Requests a second: Table 3. */
export const requestsPerS: Readonly<
  Record<
    Model,
    { readonly uniform: number; readonly poisson: number; readonly besideTraining: number }
  >
> = {
  resnet50: { uniform: 80, poisson: 50, besideTraining: 15 },
  mobilenetv2: { uniform: 100, poisson: 65, besideTraining: 40 },
  resnet101: { uniform: 40, poisson: 25, besideTraining: 9 },
  bert: { uniform: 8, poisson: 5, besideTraining: 4 },
  transformer: { uniform: 20, poisson: 12, besideTraining: 8 },
};

export const hasProfiles = existsSync(folder);

let profiles: readonly WorkloadProfile[] | undefined;

function profileNamed(name: string): WorkloadProfile {
  profiles ??= readOrionFolder(join(folder, "model_kernels"), "eth-easl/orion@aded65d");
  const found = profiles.find((profile) => profile.name === name);
  if (!found) throw new Error(`${folder} has no ${name}`);
  return found;
}

export const inference = (model: Model): Job => ({
  profile: profileNamed(inferences[model]),
  submission: "kernels",
});

export function training(model: Model): Job {
  const { file, perS } = trainings[model];
  return { profile: { ...profileNamed(file), soloNs: 1e9 / perS }, submission: "kernels" };
}

export const poisson = (perS: number, seconds: number, seed: number): readonly number[] =>
  arrivalTimes({ kind: "poisson", rate: perS }, seconds, sfc32(seed));

export const uniform = (perS: number, seconds: number): readonly number[] =>
  Array.from({ length: Math.floor(perS * seconds) }, (_, i) => ((i + 0.5) / perS) * 1e9);

/** Apollo's gaps between requests, from the start as often as it takes. */
export function apollo(seconds: number): readonly number[] {
  const gaps: readonly number[] = JSON.parse(
    readFileSync(join(folder, "inter_arrival_times.json"), "utf8"),
  );
  const at: number[] = [];
  for (let i = 0, now = 0; ; i++) {
    now += gaps[i % gaps.length] ?? 0;
    if (now >= seconds) return at;
    at.push(now * 1e9);
  }
}
