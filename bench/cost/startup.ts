// CPU time that commands take of clones of this repository in turns, in s, where no agent runs and beside one of the software
// GPU, whose own time for a command is stated, too; prints one JSON document:
//   npx tsx bench/cost/startup.ts [CLONE...]    each built by `npm run native && npm run bundle`; this one if none is given
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { runningAgent } from "#agent";
import { quantile } from "#core";

const ROUNDS = 10;
/** So often beside an agent, of which one command is too short to be measured. */
const REPEATS = 50;
const RUN = ["run", "--class", "high", "--", "/bin/true"];
const commands = [RUN, ["status"], ["up", "--help"]];
const [, , ...given] = process.argv;
const directory = mkdtempSync(`${tmpdir()}/cotenant-startup-`);
const clones = given.length > 0 ? given : ["."];
const env = { ...process.env, COTENANT_DIR: directory };

/** `bash`'s own times of its children say what a command took. */
function cpuSeconds(words: readonly string[], repeats = 1): number {
  const loop = `for ((i = 0; i < ${repeats}; i++)); do "$@"; done`;
  const script = `TIMEFORMAT="%U %S"; { time { ${loop}; } >/dev/null 2>&1; } 2>&1`;
  const { stdout } = spawnSync("bash", ["-c", script, "bash", ...words], { env, encoding: "utf8" });
  const [user = Number.NaN, system = Number.NaN] = stdout.trim().split(" ").map(Number);
  return (user + system) / repeats;
}

/** All threads of a process so far, in s. */
const cpuOf = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`)
    .map((task) => readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8"))
    .reduce((sum, text) => sum + Number(text.split(" ")[0]) / 1e9, 0);

const summary = (of: string, seen: readonly number[]) => ({
  of,
  cpuSecondsP50: quantile(seen, 0.5),
  least: Math.min(...seen),
  most: Math.max(...seen),
});

function withoutAgent() {
  const programs = [
    { of: "node -e 0", words: [process.execPath, "-e", "0"] },
    ...clones.flatMap((clone) =>
      commands.map((command) => ({
        of: `${clone}: cotenant ${command.join(" ")}`,
        words: [`${clone}/bin/cotenant`, ...command],
      })),
    ),
  ];
  const seen = programs.map(() => [] as number[]);
  for (let round = 0; round < ROUNDS; round++)
    for (const [i, { words }] of programs.entries()) seen[i]?.push(cpuSeconds(words));
  return programs.map(({ of }, i) => summary(of, seen[i] ?? []));
}

/** The clone's own agent, and the launcher that its package has as the command. */
function besideAgent(clone: string) {
  const cotenant = (...words: string[]) => spawnSync(`${clone}/bin/cotenant`, words, { env });
  cotenant("up", "--gpu", "soft");
  const { pid } = runningAgent(directory) ?? { pid: 0 };
  const ways = {
    "/bin/true": ["/bin/true"],
    [`cotenant ${RUN.join(" ")}`]: [`${clone}/build/native/cotenant`, ...RUN],
    [`bin/cotenant ${RUN.join(" ")}`]: [`${clone}/bin/cotenant`, ...RUN],
    [`node bin/cotenant ${RUN.join(" ")}`]: [process.execPath, `${clone}/bin/cotenant`, ...RUN],
  };
  const found = Object.entries(ways).flatMap(([of, words]) => {
    const own: number[] = [];
    const agent: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const before = cpuOf(pid);
      own.push(cpuSeconds(words, REPEATS));
      agent.push((cpuOf(pid) - before) / REPEATS);
    }
    const name = `${clone}, beside an agent: ${of}`;
    return [summary(name, own), summary(`${name}: the agent meanwhile, per command`, agent)];
  });
  cotenant("down");
  return found;
}

const found = [...withoutAgent(), ...clones.flatMap(besideAgent)];
rmSync(directory, { recursive: true });
console.log(JSON.stringify({ cpu: cpus()[0]?.model, rounds: ROUNDS, found }, null, 1));
