// How well colocations are predicted, on published measurements: `npx tsx bench/predict/run.ts PART [OUT.json]
// [--only=NAME,NAME]`.
// Parts: pairs, retained, unseen, left-out, several, sizes, shares, gavel, h200, speed, day. Needs the data folder
// (COTENANT_DATA), but for h200 and day. OUT.json is what is printed, with its provenance. Times are of the CPU, one thread, so that a busy machine changes them little.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { simulatedDay } from "./day/day.ts";
import { gavel } from "./gavel.ts";
import { h200 } from "./h200.ts";
import { leftOut } from "./left-out.ts";
import { pairs, retained, speed } from "./protocol.ts";
import { several } from "./several.ts";
import { shares } from "./shares.ts";
import { sizes } from "./sizes.ts";
import { unseen } from "./unseen.ts";

const parts = {
  pairs,
  retained,
  unseen,
  "left-out": leftOut,
  several,
  sizes,
  shares,
  gavel,
  h200,
  speed,
  day: simulatedDay,
};

const given = process.argv.slice(2);
const [name = "", out] = given.filter((argument) => !argument.startsWith("--"));
const part = Object.entries(parts).find(([one]) => one === name)?.[1];
if (!part) {
  console.error(
    `bench/predict: there is no part "${name}". Known: ${Object.keys(parts).join(", ")}.`,
  );
  process.exit(2);
}
// A folder without a repository fails before the work and not after it, and the commit is that of the begin.
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
const begun = process.cpuUsage();
const result = part((line) => console.error(`bench/predict: ${line}`));
const { user, system } = process.cpuUsage(begun);
const document = {
  version: 1,
  kind: `predict-${name}`,
  date: new Date().toISOString(),
  machine: { cpu: cpus()[0]?.model ?? "unknown", cpus: cpus().length, node: process.version },
  commit,
  command: ["npx tsx bench/predict/run.ts", ...given.filter((one) => one !== out)].join(" "),
  cpuSeconds: Math.round((user + system) / 1e6),
  ...result,
};
const text = JSON.stringify(document, null, 2);
console.log(text);
if (out !== undefined) writeFileSync(out, `${text}\n`);
