// Files that people named, such as `bert.json`, are read too: name and GPU are in the file. A file
// is renamed into place, so a reader sees either the old profile or the new one.
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { errors, readInput } from "#core";
import { formatProfile, parseProfile } from "./document.ts";
import { badProfile, noProfile } from "./errors.ts";
import { gpuNamed } from "./gpus.ts";
import type { WorkloadProfile } from "./types.ts";

export interface Stored {
  readonly name: string;
  readonly gpu: string;
  readonly path: string;
}

export function profileFolder(env: Readonly<Record<string, string | undefined>>): string {
  if (env.COTENANT_PROFILES) return env.COTENANT_PROFILES;
  return join(env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "cotenant", "profiles");
}

export class ProfileStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Sorted by name, then GPU. Files that are not profiles are left out. */
  list(): readonly Stored[] {
    return filesIn(this.#folder)
      .flatMap((file) => {
        const path = join(this.#folder, file);
        if (file.startsWith(".") || !file.endsWith(".json")) return [];
        if (!file.includes("@")) return readHead(path) ?? [];
        const parts = /^([^@]+)@([^@]+)\.json$/.exec(file);
        if (!parts) return [];
        const [, name = "", gpu = ""] = parts;
        return [{ name: decode(name), gpu: decode(gpu), path }];
      })
      .sort((a, b) => a.name.localeCompare(b.name) || a.gpu.localeCompare(b.gpu));
  }

  read(name: string, gpu: string): WorkloadProfile {
    const path = this.#path(name, gpu);
    const profile = readProfileFile(path);
    if (profile.name === name && profile.gpu.name === gpu) return profile;
    throw badProfile(path, "", `it is the profile of ${profile.name} on ${profile.gpu.name}.`);
  }

  write(profile: WorkloadProfile): string {
    const path = this.#path(profile.name, profile.gpu.name);
    const text = formatProfile(profile);
    // Throws if the text could not be read back.
    parseProfile(text, path);
    mkdirSync(this.#folder, { recursive: true });
    const fresh = `${path}.${process.pid}.new`;
    try {
      writeFileSync(fresh, text);
      renameSync(fresh, path);
    } finally {
      rmSync(fresh, { force: true });
    }
    return path;
  }

  #path(name: string, gpu: string): string {
    return join(this.#folder, `${encode(name)}@${encode(gpu)}.json`);
  }
}

export function readProfileFile(path: string): WorkloadProfile {
  let text: string;
  try {
    text = readInput(path).toString();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw noProfile(`profile ${path}`);
    throw errors.cannotRead(path, error);
  }
  return parseProfile(text, path);
}

export type Fit = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** Durations and SM needs of another GPU would be wrong. */
export function checkGpu(profile: WorkloadProfile, gpuName: string): Fit {
  const recorded = profile.gpu.name;
  const same = gpuNamed(recorded)?.short ?? recorded;
  if (same === (gpuNamed(gpuName)?.short ?? gpuName)) return { ok: true };
  const reason = `The profile ${profile.name} was recorded on ${recorded}; this is ${gpuName}.`;
  return { ok: false, reason };
}

/** undefined if the file is not a profile. */
function readHead(path: string): Stored | undefined {
  try {
    const { name, gpu, kernels } = JSON.parse(readInput(path).toString());
    const is = typeof name === "string" && typeof gpu?.name === "string" && Array.isArray(kernels);
    return is ? { name, gpu: gpu.name, path } : undefined;
  } catch {
    return undefined;
  }
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return [];
    throw errors.cannotRead(folder, error);
  }
}

/** Names contain slashes and blanks; "@" and a leading dot have a meaning here. */
const encode = (name: string): string =>
  encodeURIComponent(name).replaceAll("%20", "+").replace(/^\./, "%2E");

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    // The name was not made by `encode`: it is shown as it is.
    return text;
  }
}
