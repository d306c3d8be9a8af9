import { errors, percent, table } from "#core";
import { launchesOf, ProfileStore, readProfileFile, summaryOf } from "#profile";
import { folderOf, type Options } from "./options.ts";
import { summaryText, time } from "./text.ts";

/** Longer names are templates spelt out. */
const NAME_WIDTH = 60;

/** A name stands for the first profile that has it. */
function pathOf(given: string, folder: string): string {
  if (given.includes("/") || given.endsWith(".json")) return given;
  const stored = new ProfileStore(folder).list();
  const found = stored.find(({ name }) => name === given);
  if (found) return found.path;
  throw errors.noSuchProfile(given, folder, [...new Set(stored.map(({ name }) => name))]);
}

export function show(asked: string, args: Options): number {
  const profile = readProfileFile(pathOf(asked, folderOf(args)));
  if (args.json) {
    console.log(JSON.stringify(profile, null, 2));
    return 0;
  }
  console.log(`${summaryText(profile)}; from ${profile.source}\n`);
  const counts = launchesOf(profile);
  const { kernelNs } = summaryOf(profile);
  const kernels = profile.kernels
    .map((kernel, i) => ({ kernel, launches: counts[i] ?? 0 }))
    .map((one) => ({ ...one, ns: one.launches * one.kernel.durationNs.p50 }))
    .sort((a, b) => b.ns - a.ns);
  const rows = kernels
    .slice(0, args.top)
    .map(({ kernel, launches, ns }) => [
      shorten(kernel.name),
      kernel.class,
      String(launches),
      time(kernel.durationNs.p50),
      time(kernel.durationNs.p95),
      String(kernel.smsNeeded),
      time(ns),
      percent(kernelNs === 0 ? 0 : ns / kernelNs),
    ]);
  const head = ["kernel", "class", "launches", "p50", "p95", "SMs", "in all", "part"];
  for (const line of table([head, ...rows], 2)) console.log(line);
  const rest = kernels.slice(args.top);
  const left = rest.reduce((sum, { ns }) => sum + ns, 0);
  if (rest.length > 0) console.log(`${rest.length} more kernels take ${time(left)}.`);
  return 0;
}

const shorten = (name: string): string =>
  name.length > NAME_WIDTH ? `${name.slice(0, NAME_WIDTH - 1)}…` : name;
