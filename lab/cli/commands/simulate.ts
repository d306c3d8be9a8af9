// A cluster in simulation: the same day under each scheduler, as a table, JSON and a page with charts.
import { mkdirSync, rmSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import {
  type Args,
  askCluster,
  clusterOptions,
  command,
  flag,
  json,
  list,
  number,
  text,
} from "#cli";
import {
  columns,
  csvColumns,
  exampleScenario,
  type Figures,
  findings,
  htmlReport,
  levelRows,
  levelTitles,
  readClusterScenario,
  type SchedulerKind,
  schedulers,
  simulate,
  traceFormats,
  unfinished,
  verdict,
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
  temporaryFolder,
  UserError,
  usage,
  wallNow,
  wrap,
  writeGiven,
} from "#core";
import { JOBS_FILE, managerScheduler, scenarioOf } from "#manager";

const options = {
  scheduler: list(
    "NAME",
    `instead of the scenario's; one of: ${schedulers.map(({ name }) => name).join(", ")}. Behind a name, @rounds or @once says when it decides, by default once`,
  ),
  seed: number("N", undefined, "simulate this seed only", { min: 0, max: 1_000_000, whole: true }),
  data: text(
    "DIR",
    undefined,
    "where the files are whose names begin with data: in the scenario; by default COTENANT_DATA",
  ),
  out: text("FILE", undefined, "write all figures here, as JSON"),
  report: text("FILE", undefined, "write a page with charts here, HTML that needs nothing else"),
  "from-cluster": flag("simulate the Kubernetes cluster as it is now"),
  export: text(
    "DIR",
    undefined,
    "with --from-cluster: write the scenario there instead, to change and to simulate it",
  ),
  ...clusterOptions,
  json,
};

type Options = Args<typeof options>;

/** Named so on the command line and in files. */
const EXAMPLE = "example";

export const simulateCommand = command({
  name: "simulate",
  summary: "simulate a cluster: who shares which GPU with whom, under each scheduler",
  options,
  positional: {
    name: "[SCENARIO]",
    doc: `a JSON file as in bench/cluster/scenarios, or of your own cluster (docs/guide/cluster.md); without one, "${EXAMPLE}", which needs no data. Its trace of jobs has a format: ${Object.keys(traceFormats).join(", ")}. A trace in the format csv has the columns ${Object.keys(csvColumns).join(", ")}, of which the first two must be there`,
    atLeast: 0,
  },
  examples: ["cotenant-lab simulate --report day.html"],
  async run(args) {
    const [scenario, stray] = args.positional;
    if (stray !== undefined) throw errors.strayArgument("simulate", stray);
    return await simulateCluster(scenario, args);
  },
});

/** `given`: the scenario; undefined for the invented one, or the cluster itself. */
async function simulateCluster(given: string | undefined, args: Options): Promise<number> {
  if (!args["from-cluster"]) return simulateScenario(given ?? EXAMPLE, args);
  if (given !== undefined) throw errors.strayArgument("simulate --from-cluster", given);
  const exported = await askCluster(args, (api) => scenarioOf(api, wallNow()));
  if (exported === undefined)
    throw new UserError(
      "NOTHING_TO_SIMULATE",
      "The cluster has no service on a GPU, or no best-effort pod: there is nothing to simulate.",
      "cotenant cluster status shows what there is.",
    );
  const folder = args.export ?? temporaryFolder("cluster");
  mkdirSync(folder, { recursive: true });
  const scenario = join(folder, "scenario.json");
  writeGiven(join(folder, JOBS_FILE), `${exported.jobs}\n`);
  writeGiven(scenario, `${JSON.stringify(exported.scenario, null, 2)}\n`);
  if (args.export !== undefined) {
    console.log(`cotenant-lab simulate ${scenario}`);
    return 0;
  }
  try {
    // Unless others are named, the manager's own decisions with the cluster's SharingPolicy are shown, too.
    const own =
      args.scheduler.length === 0
        ? [managerScheduler(exported.policy, exported.profiled, exported.moveCosts)]
        : [];
    return simulateScenario(scenario, args, own);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** `more`: schedulers beside those that the scenario names. */
function simulateScenario(
  given: string,
  args: Options,
  more: readonly SchedulerKind[] = [],
): number {
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
  const kinds = [...scenario.schedulers, ...more];
  const runs = scenario.seeds.length * kinds.length;
  let hours = 0;
  const shown = progressOf("simulate");
  const left = leftOf(runs);
  for (const seed of scenario.seeds) {
    const plan = scenario.plan(seed);
    hours = plan.horizon / 3600;
    for (const kind of kinds) {
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
    command: ["cotenant-lab", ...process.argv.slice(2)].join(" "),
    figures,
  };
  if (args.out !== undefined) writeGiven(args.out, `${JSON.stringify(result)}\n`);
  if (args.report !== undefined)
    writeGiven(args.report, htmlReport({ ...result, name: given, hours }));
  console.log(
    args.json
      ? JSON.stringify(result, null, 2)
      : [
          tableOf(figures, process.stdout.columns, paintFor(process.stdout)),
          "",
          ...[...unfinished(figures), verdict(figures) ?? findings(figures)[0] ?? "", LEGEND]
            .filter((line) => line !== "")
            .flatMap((line) => wrap(line, process.stdout.columns ?? Number.POSITIVE_INFINITY)),
        ].join("\n"),
  );
  return 0;
}

const contentOf = (given: string): string =>
  given === EXAMPLE ? JSON.stringify(exampleScenario) : readGiven(given, "scenario");

const DATA = "data:";

function readNamed(path: string, scenario: string, { data }: Options): string {
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

const LEGEND =
  "Slowdown: of requests, to those alone. JCT: a job's time from its submission to its end. Makespan: until the last job has ended. Oversold: the part of its speed alone that a job keeps, over the time that it has a GPU. --report FILE writes the rest as a page.";

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
