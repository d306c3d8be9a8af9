// What `npm start` and `npm test` do first on a fresh clone: install the packages, build the native
// parts, bundle the command. Everything already up to date costs about a second.
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

function fail(sentence) {
  console.error(`setup: ${sentence}`);
  process.exit(1);
}

function run(label, command, args) {
  const started = Date.now();
  const result = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  if (result.status !== 0) {
    process.stderr.write(`${result.stdout ?? ""}${result.stderr ?? ""}`);
    fail(`${label} failed: "${command} ${args.join(" ")}" (its output is above).`);
  }
  const seconds = (Date.now() - started) / 1000;
  if (seconds > 2) console.error(`setup: ${label} (${seconds.toFixed(0)} s)`);
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19))
  fail(`Node ${process.versions.node} is too old: install Node 20.19 or newer.`);

for (const [tool, hint] of [
  ["g++", "Debian: apt-get install g++"],
  ["make", "Debian: apt-get install make"],
  ["npm", "it comes with Node.js"],
])
  if (spawnSync(tool, ["--version"]).error) fail(`"${tool}" is missing: install it (${hint}).`);

const installed = `${root}/node_modules/.package-lock.json`;
const stale =
  !existsSync(installed) ||
  statSync(installed).mtimeMs < statSync(`${root}/package-lock.json`).mtimeMs;
// Not `npm ci`: it refuses a lock file that lacks the optional packages of other platforms, which is what
// npm writes where the registry offers only this platform's. Versions are exact in package.json, too.
if (stale) run("installing packages", "npm", ["install", "--no-save"]);
run("building the native parts", "make", ["-C", "native", "-j2", "--no-print-directory"]);
run("bundling the command", "npx", [
  "vite",
  "build",
  "--ssr",
  "src/cli/main.ts",
  "--logLevel",
  "warn",
]);
