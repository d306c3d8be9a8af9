// MuxFlow's scenario with the manager's own matching and shares, on virtual time: job completion times, the oversold GPU and
// the slowdown of services, beside MuxFlow and Cotenant's scheduler of the simulator. The data are those of
// bench/cluster/run.ts.
// Usage: npx tsx bench/kubernetes/muxflow.ts [SCENARIO …]
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { readClusterScenario, simulate } from "#cluster";
import { dateNow } from "#core";
import { managerScheduler } from "#manager";
import { dataFolder } from "../data.ts";

const folder = join(import.meta.dirname, "../cluster/scenarios");
/** Seed 1 is left out, as in bench/cluster/run.ts. */
const SEED = 2;
const given = process.argv.slice(2);
const names = given.length > 0 ? given : ["muxflow-a", "muxflow-b"];
const rounded = (n: number) => Math.round(1000 * n) / 1000;

const figures = names.flatMap((name) => {
  const text = readFileSync(join(folder, `${name}.json`), "utf8");
  const read = (path: string) => readFileSync(path.replace(/^data:/, `${dataFolder}/`), "utf8");
  const scenario = readClusterScenario(text, name, read, { schedulers: ["muxflow", "cotenant"] });
  const kinds = [
    ...scenario.schedulers,
    { ...managerScheduler({ leastGain: 1 }), name: "manager without moves" },
    managerScheduler(),
    { ...managerScheduler({}, new Set()), name: "manager without profiles" },
  ];
  return kinds.map((kind) => {
    const before = process.cpuUsage();
    const made = simulate(scenario.plan(SEED), kind);
    const { user, system } = process.cpuUsage(before);
    return {
      ...{ scenario: name, scheduler: kind.name, jobs: made.jobs, finished: made.finished },
      jctMeanMinutes: rounded(made.jctMean / 60),
      jctP95Minutes: rounded(made.jctP95 / 60),
      waitingMeanMinutes: rounded(made.waitingMean / 60),
      oversold: rounded(made.oversold),
      meanSlowdown: rounded(made.meanSlowdown),
      p99Slowdown: rounded(made.p99Slowdown),
      ...{ starts: made.starts, moves: made.moves, evictions: made.evictions },
      cpuSeconds: rounded((user + system) / 1e6),
    };
  });
});
console.log(
  JSON.stringify(
    {
      date: dateNow(),
      commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
      command: `npx tsx bench/kubernetes/muxflow.ts ${names.join(" ")}`,
      machine: { cpu: cpus()[0]?.model, cores: cpus().length },
      ...{ seed: SEED, figures },
    },
    null,
    2,
  ),
);
