// Packs what setup.mjs has built: cotenant-VERSION-linux-x64.tgz, with the packages that it needs at run time
// (bundleDependencies in package.json). Usage: node scripts/package.mjs [FOLDER]
import { execFileSync } from "node:child_process";
import { renameSync } from "node:fs";
import { join, resolve } from "node:path";

const folder = resolve(process.argv[2] ?? ".");
const root = join(import.meta.dirname, "..");
execFileSync("npx", ["tsx", "scripts/manual.ts"], { cwd: root, stdio: "inherit" });
const said = execFileSync(
  "npm",
  ["pack", "--json", "--ignore-scripts", "--pack-destination", folder],
  {
    encoding: "utf8",
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  },
);
const packed = JSON.parse(said);
const { name, version, filename, size } = Array.isArray(packed)
  ? packed[0]
  : Object.values(packed)[0];
const file = join(folder, `${name}-${version}-linux-x64.tgz`);
renameSync(join(folder, filename), file);
console.log(`${file} (${(size / 1e6).toFixed(1)} MB)`);
