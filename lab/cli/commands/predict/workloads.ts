// Jobs by the names given: profile files, names in a folder of profiles, names in the measurements.

import { isFile, usage } from "#core";
import type { Measured, Workload } from "#evaluation";
import { profileFeatures } from "#predict";
import { ProfileStore, readProfileFile, type WorkloadProfile } from "#profile";
import type { Options } from "./options.ts";

export function workloadNamed(name: string, args: Options, known: Measured | undefined): Workload {
  const profile = profileNamed(name, args);
  const features = profile ? profileFeatures(profile) : known?.workloads.get(name);
  return { name: profile?.name ?? name, features: features ?? unknownWorkload(name, args) };
}

export function profileNamed(name: string, args: Options): WorkloadProfile | undefined {
  if (isFile(name)) return readProfileFile(name);
  if (args.profiles === undefined) return undefined;
  const found = new ProfileStore(args.profiles).list().filter((one) => one.name === name);
  if (found.length > 1)
    throw usage(`${name} has profiles of several GPUs in ${args.profiles}.`, "Give its file.");
  return found[0] && readProfileFile(found[0].path);
}

export function unknownWorkload(name: string, { profiles }: Options): never {
  throw usage(
    `There is no workload ${name}: it is no profile file, and no name in ${profiles ?? "any folder"}.`,
    profiles === undefined ? "Give a file, or the folder of names with --profiles DIR." : "",
  );
}
