// The first step of `npm start` and `npm test` on a fresh clone: install the packages, build the native parts, bundle the
// command. The native parts need nothing of the packages, so both go on side by side. Everything already up to date costs
// about a second. Usage: node scripts/setup.mjs [--tests]; with --tests
// it also builds the programs that only tests run.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { Progress } from "./progress.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const forTests = process.argv.includes("--tests");

// Seconds on a core of a server of today. Only the estimates depend on them.
const INSTALL_S = 20;
const COMPILE_S = 0.6;
const BUNDLE_S = 3;

function fail(sentence) {
  console.error(`setup: ${sentence}`);
  process.exit(1);
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

const cores = availableParallelism();
const make = [
  ...["-C", "native", "--no-print-directory", `-j${cores}`],
  forTests ? "all" : "shipped",
];

/** The files that make would make; what is wrong with the makefile shows in the step itself. */
const compiles = (text) => text.split("\n").filter((line) => line.includes(" -o ")).length;
const dry = spawnSync("make", [...make, "--dry-run"], { cwd: root, encoding: "utf8" });
const files = compiles(dry.stdout);

const installed = `${root}/node_modules/.package-lock.json`;
const stale =
  !existsSync(installed) ||
  statSync(installed).mtimeMs < statSync(`${root}/package-lock.json`).mtimeMs;

const native = {
  name: "building the native parts",
  command: ["make", ...make],
  seconds: (files * COMPILE_S) / cores,
  files,
};
// Not `npm ci`: it refuses a lock file that lacks the optional packages of other platforms, which is what npm writes
// where the registry offers only this platform's. Versions are exact in package.json, too.
const install = {
  name: "installing packages",
  command: ["npm", "install", "--no-save"],
  seconds: INSTALL_S,
};
const bundle = {
  name: "bundling the commands",
  command: ["npx", "vite", "build", "--logLevel", "warn"],
  seconds: BUNDLE_S,
};
const lanes = [files > 0 || dry.status !== 0 ? [native] : [], stale ? [install, bundle] : [bundle]];

const running = new Set();

function run(step) {
  const { name, command } = step;
  const [program, ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
    running.add(child);
    let said = "";
    const hear = (chunk) => {
      said += chunk;
      progress.made(step, compiles(said));
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("close", (status) => {
      running.delete(child);
      if (status === 0) return resolve();
      for (const other of running) other.kill();
      progress.clear();
      process.stderr.write(said);
      fail(`${name} failed: "${command.join(" ")}" (its output is above).`);
    });
  });
}

async function runLane(lane) {
  for (const step of lane) {
    progress.begin(step);
    await run(step);
    progress.done(step);
  }
}

const progress = new Progress(lanes, process.stderr, () => performance.now() / 1000);
const tick = setInterval(() => progress.show(), 500);
await Promise.all(lanes.map(runLane));
clearInterval(tick);
progress.end();
