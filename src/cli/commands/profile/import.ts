import { basename } from "node:path";
import { errors, readGiven, tryWrite, usage } from "#core";
import {
  checkGpu,
  importNcu,
  importOrion,
  importTorch,
  ProfileStore,
  summaryOf,
  type WorkloadProfile,
} from "#profile";
import { folderOf, nsOf, type Options } from "./options.ts";
import { summaryText } from "./text.ts";

export function importAll(files: readonly string[], args: Options): number {
  if (files.length === 0) throw errors.missingArgument("profile import", "a FILE");
  if (files.length > 1 && args.name !== undefined)
    throw usage("--name is for one file.", "Of several, each profile has the name of its file.");
  // All are read before the first is written.
  const profiles = files.map((file) => importOne(file, args));
  const out = folderOf(args);
  const store = new ProfileStore(out);
  for (const profile of profiles) {
    const path = tryWrite(out, () => store.write(profile));
    if (!args.json) console.log(`${path}: ${summaryText(profile)}`);
  }
  if (args.json) console.log(JSON.stringify(profiles.map(summaryOf), null, 2));
  return 0;
}

function importOne(file: string, args: Options): WorkloadProfile {
  const { from, kind, gpu } = args;
  if (from === undefined) throw errors.missingArgument("profile import", "--from ncu|torch|orion");
  const soloNs = args.solo && nsOf(args.solo);
  if (from === "orion") return importedOrion(file, args, soloNs);
  if (kind === undefined)
    throw errors.missingArgument("profile import", "--kind inference|training");
  const about = {
    name: args.name ?? basename(file).replace(/(\.pt\.trace)?\.\w+$/, ""),
    kind,
    file,
    source: file,
    ...(gpu === undefined ? {} : { gpu }),
    ...(soloNs === undefined ? {} : { soloNs }),
  };
  const content = readGiven(file, "file");
  return from === "ncu"
    ? importNcu(content, { ...about, iterations: args.iterations })
    : importTorch(content, about);
}

/** These files say what they are and which GPU they are from: options have to agree. */
function importedOrion(file: string, args: Options, soloNs: number | undefined): WorkloadProfile {
  const profile = importOrion(readGiven(file, "file"), file, file);
  if (args.kind !== undefined && args.kind !== profile.kind)
    throw usage(`${file}: by its name it is ${profile.kind}, not ${args.kind}.`);
  if (args.gpu !== undefined && !checkGpu(profile, args.gpu).ok)
    throw usage(`${file}: Orion's files were recorded on ${profile.gpu.name}, not on ${args.gpu}.`);
  return { ...profile, name: args.name ?? profile.name, soloNs: soloNs ?? profile.soloNs };
}
