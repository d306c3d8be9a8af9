// A cluster in simulation: the same day under each scheduler, as a table, JSON and a page with charts.
import { dirname, isAbsolute, join } from "node:path";
import {
  columns,
  csvColumns,
  exampleScenario,
  type Figures,
  htmlReport,
  levelRows,
  levelTitles,
  readClusterScenario,
  schedulers,
  simulate,
  traceFormats,
} from "#cluster";
import {
  checkWritable,
  errors,
  fitTable,
  leftOf,
  paintFor,
  plain,
  progressOf,
  readGiven,
  readInput,
  usage,
  writeGiven,
} from "#core";
import { type Args, command, json, list, number, text } from "../command.ts";

const options = {
  scheduler: list(
    "NAME",
    `instead of the scenario's; one of: ${schedulers.map(({ name }) => name).join(", ")}. Behind a name, @rounds or @once says when it decides`,
  ),
  seed: number("N", undefined, "simulate this seed only", { min: 0, max: 1_000_000, whole: true }),
  data: text(
    "DIR",
    undefined,
    "where the files are whose names begin with data: in the scenario; by default COTENANT_DATA",
  ),
  out: text("FILE", undefined, "write all figures here, as JSON"),
  report: text("FILE", undefined, "write a page with charts here, HTML that needs nothing else"),
  json,
};

type Given = Args<typeof options>;

/** Named so on the command line and in files. */
const EXAMPLE = "example";

export const clusterCommand = command({
  name: "cluster",
  summary:
    "simulate a cluster: who shares which GPU with whom, and what it does to latency and jobs",
  options,
  positional: {
    name: "simulate [SCENARIO]",
    doc: `a JSON file as in bench/cluster/scenarios, or of your own cluster (docs/guide/cluster.md); without one, "${EXAMPLE}", which needs no data. Its trace of jobs has a format: ${Object.keys(traceFormats).join(", ")}. A trace in the format csv has the columns ${Object.keys(csvColumns).join(", ")}, of which the first two must be there`,
    atLeast: 1,
  },
  examples: ["cotenant cluster simulate --report day.html"],
  async run(args) {
    const [verb, given = EXAMPLE, stray] = args.positional;
    if (verb !== "simulate") throw usage(`"cluster" can't "${verb}".`, 'It can "simulate".');
    if (stray !== undefined) throw errors.strayArgument("cluster simulate", stray);
    for (const path of [args.out, args.report]) if (path !== undefined) checkWritable(path);
    const scenario = readClusterScenario(
      contentOf(given),
      given,
      (path) => readNamed(path, given, args),
      {
        schedulers: args.scheduler.length > 0 ? args.scheduler : undefined,
        seeds: args.seed === undefined ? undefined : [args.seed],
      },
    );
    const figures: Figures[] = [];
    const runs = scenario.seeds.length * scenario.schedulers.length;
    let hours = 0;
    const shown = progressOf("cluster");
    const left = leftOf(runs);
    for (const seed of scenario.seeds) {
      const plan = scenario.plan(seed);
      hours = plan.horizon / 3600;
      for (const kind of scenario.schedulers) {
        const what = `${kind.name}, seed ${seed} (${figures.length + 1} of ${runs})`;
        const done = figures.length;
        const progress = everySoOften((now, ended) => {
          const jobs = plan.jobs.length;
          shown.step(
            `${what}: ${(now / 3600).toFixed(1)} h, ${ended} of ${jobs} jobs done`,
            left(done + ended / jobs),
          );
        });
        figures.push(simulate(plan, kind, { progress }));
      }
    }
    shown.end();
    const result = {
      version: 1,
      scenario: given,
      about: scenario.about,
      command: ["cotenant", ...process.argv.slice(2)].join(" "),
      figures,
    };
    if (args.out !== undefined) writeGiven(args.out, `${JSON.stringify(result)}\n`);
    if (args.report !== undefined)
      writeGiven(args.report, htmlReport({ ...result, name: given, hours }));
    console.log(
      args.json
        ? JSON.stringify(result, null, 2)
        : tableOf(figures, process.stdout.columns, paintFor(process.stdout)),
    );
    return 0;
  },
});

const contentOf = (given: string): string =>
  given === EXAMPLE ? JSON.stringify(exampleScenario) : readGiven(given, "scenario");

const DATA = "data:";

function readNamed(path: string, scenario: string, { data }: Given): string {
  if (!path.startsWith(DATA))
    return readGiven(
      isAbsolute(path) ? path : join(dirname(scenario), path),
      "file of the scenario",
    );
  const folder = data ?? process.env.COTENANT_DATA;
  const rest = path.slice(DATA.length);
  if (folder === undefined)
    throw usage(
      `${scenario} reads ${rest}, which is no part of this package.`,
      "Say where it is with --data DIR, or COTENANT_DATA; docs/guide/cluster.md says where it comes from.",
    );
  try {
    return readInput(join(folder, rest)).toString();
  } catch {
    throw usage(
      `${scenario} reads ${rest}, and ${folder} has no such file.`,
      "docs/guide/cluster.md says where it comes from.",
    );
  }
}

/** Milliseconds between two steps of progress. */
const SAY_EVERY = 2_000;

function everySoOften(
  say: (now: number, ended: number) => void,
): (now: number, ended: number) => void {
  let said = performance.now();
  return (now, ended) => {
    if (performance.now() - said < SAY_EVERY) return;
    said = performance.now();
    say(now, ended);
  };
}

function tableOf(figures: readonly Figures[], width?: number, paint = plain): string {
  const names = [...new Set(figures.map(({ scheduler }) => scheduler))];
  const scheduler = {
    title: "scheduler",
    words: true,
    cell: ([name = ""]: readonly string[]) => name,
  };
  const fitted = (titles: readonly string[], rows: readonly (readonly string[])[]) =>
    fitTable(
      [
        scheduler,
        ...titles.map((title, i) => ({
          title,
          rank: i,
          cell: (row: readonly string[]) => row[i + 1] ?? "",
        })),
      ],
      rows,
      width,
      paint,
    );
  const ownOf = (name: string) => figures.filter((one) => one.scheduler === name);
  const rows = names.map((name) => [name, ...columns.map(({ of }) => of(ownOf(name)))]);
  const levels = names.flatMap((name) => levelRows(ownOf(name)).map((row) => [name, ...row]));
  return [
    ...fitted(
      columns.map(({ title }) => title),
      rows,
    ),
    ...(levels.length > 0 ? ["", ...fitted(levelTitles, levels)] : []),
  ].join("\n");
}
