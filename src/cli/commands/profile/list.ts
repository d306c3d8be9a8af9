import { existsSync } from "node:fs";
import { table, UserError, usage } from "#core";
import { ProfileStore, readProfileFile, summaryOf } from "#profile";
import type { Options } from "./options.ts";
import { time } from "./text.ts";

export function listFolder(folder: string, args: Options): number {
  if (args.positional[1] !== undefined && !existsSync(folder))
    throw usage(`There is no folder ${folder}.`);
  const all = new ProfileStore(folder).list();
  if (args.json) {
    console.log(JSON.stringify(all, null, 2));
    return 0;
  }
  if (all.length === 0) {
    console.log(`${folder} holds no profile.`);
    return 0;
  }
  const rows = all.map(({ name, gpu, path }) => [name, gpu, ...rowOf(path)]);
  const head = ["name", "GPU", "kind", "kernels", "distinct", "time", "alone", "SMs"];
  for (const line of table([head, ...rows], 3)) console.log(line);
  return 0;
}

/** A file that can't be used does not hide the others. */
function rowOf(path: string): string[] {
  try {
    const profile = readProfileFile(path);
    const { kind, launches, distinct, kernelNs, soloNs, sms } = summaryOf(profile);
    const counts = [launches, distinct].map(String);
    return [kind, ...counts, time(kernelNs), time(soloNs), sms.toFixed(0)];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return ["damaged", "-", "-", "-", "-", "-"];
  }
}
