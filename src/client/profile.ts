import { writeSync } from "node:fs";
import { claimDirectory, pathsIn, type Service } from "#agent";
import { errors, isFile, tryWrite } from "#core";
import {
  checkGpu,
  ProfileStore,
  profileFolder,
  readProfileFile,
  type WorkloadProfile,
} from "#profile";
import { ownRunDirectory, ownUid } from "./ask.ts";
import { writeKernelTable } from "./kernel-table.ts";

/** Throws a UserError without a profile of that name for the agent's GPU. */
export function profileEnvironment(
  asked: string,
  agent: Service,
  directory: string,
): Record<string, string> {
  const gpus = agent.gpuNames;
  const { profile, gpu } = isFile(asked) ? ofFile(asked, gpus) : ofName(asked, gpus);
  const folder = pathsIn(agent.scope === "user" ? directory : ownFolder()).kernels;
  warn(profile);
  return { COTENANT_KERNELS: tryWrite(folder, () => writeKernelTable(profile, gpu, folder)) };
}

// Only the machine's agent may write into its own folder, so tables for its clients go elsewhere.
function ownFolder(): string {
  const directory = ownRunDirectory();
  claimDirectory(directory, ownUid());
  return directory;
}

interface Fitting {
  readonly profile: WorkloadProfile;
  readonly gpu: string;
}

function ofFile(path: string, gpus: readonly string[]): Fitting {
  const profile = readProfileFile(path);
  const fits = gpus.map((gpu) => ({ gpu, fit: checkGpu(profile, gpu) }));
  const found = fits.find(({ fit }) => fit.ok);
  if (found) return { profile, gpu: found.gpu };
  const reasons = fits.flatMap(({ fit }) => (fit.ok ? [] : [fit.reason]));
  throw errors.profileOfAnotherGpu(reasons[0] ?? "The agent knows of no GPU.");
}

function ofName(name: string, gpus: readonly string[]): Fitting {
  const folder = profileFolder(process.env);
  const stored = new ProfileStore(folder).list();
  const named = stored.filter((one) => one.name === name);
  if (named.length === 0)
    throw errors.noSuchProfile(name, folder, [...new Set(stored.map((one) => one.name))]);
  const here = named.find(({ gpu }) => gpus.includes(gpu)) ?? named[0];
  return ofFile(here?.path ?? "", gpus);
}

/** process.stderr must not be touched before this process becomes another program (become.ts). */
function warn({ name, kernels }: WorkloadProfile): void {
  const spelt = kernels.filter((kernel) => /[ (<]/.test(kernel.name)).length;
  const classless = kernels.every((kernel) => kernel.class === "unknown");
  const say = (text: string) => writeSync(2, `cotenant: the profile ${name} ${text}.\n`);
  if (spelt > 0)
    say(
      `has ${spelt} of ${kernels.length} kernels by names as people read them, not as the driver says them: these stay unknown`,
    );
  if (classless) say("knows no kernel's class: policies take every class for unknown");
}
