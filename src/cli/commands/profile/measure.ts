import { basename } from "node:path";
import { watchSystem } from "#agent";
import { measure, summaryOf } from "#profile";
import { folderOf, nsOf, type Options } from "./options.ts";
import { summaryText } from "./text.ts";

export async function measureOne(
  command: readonly [string, ...string[]],
  args: Options,
): Promise<number> {
  const { profile, path, lacks } = await measure({
    command,
    name: args.name ?? nameOf(command),
    out: folderOf(args),
    kind: args.kind,
    gpu: args.gpu,
    soloNs: args.solo && nsOf(args.solo),
    seconds: args.seconds,
    sample: !args["no-ncu"],
    onePass: args["one-pass"],
    fresh: args.fresh,
    watchSystem,
    say: (text) => console.error(`profile: ${text}`),
  });
  for (const lack of lacks) console.error(`profile: ${lack}.`);
  console.log(
    args.json ? JSON.stringify(summaryOf(profile), null, 2) : `${path}: ${summaryText(profile)}`,
  );
  return 0;
}

const INTERPRETER = /^(python|node|bash|sh|torchrun)[\d.]*$/;

/** If an interpreter runs a script, it is the name of the script. */
function nameOf([program, ...args]: readonly [string, ...string[]]): string {
  const script = INTERPRETER.test(basename(program))
    ? args.find((word) => /^[^-].*\.\w+$/.test(word))
    : undefined;
  return basename(script ?? program).replace(/\.\w+$/, "");
}
