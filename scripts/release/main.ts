// npm run release -- VERSION [--out FOLDER] [--image]: makes a release (release.ts).
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { commands, release } from "./release.ts";

const root = join(import.meta.dirname, "../..");
const usage = "npm run release -- VERSION [--out FOLDER] [--image]";

try {
  const { values, positionals } = parseArgs({
    options: { out: { type: "string" }, image: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const [version, ...others] = positionals;
  if (version === undefined || others.length > 0)
    throw new Error(`one version is wanted: ${usage}`);
  release(
    {
      root,
      version,
      date: new Date().toISOString().slice(0, 10),
      out: resolve(values.out ?? join(root, "build/release", version)),
      image: values.image,
      say: (sentence) => console.log(`release: ${sentence}`),
    },
    commands,
  );
} catch (error) {
  console.error(`release: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
