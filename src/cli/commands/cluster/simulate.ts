// A cluster in simulation: the same day under each scheduler, as a table, JSON and a page with charts.
import { mkdirSync, rmSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import {
  columns,
  exampleScenario,
  type Figures,
  htmlReport,
  levelRows,
  levelTitles,
  readClusterScenario,
  type SchedulerKind,
  simulate,
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
  writeGiven,
} from "#core";
import { JOBS_FILE, scenarioOf } from "#kubernetes";
import { managerScheduler } from "#manager";
import { asking } from "./kubernetes.ts";
import type { Given } from "./options.ts";

/** Named so on the command line and in files. */
export const EXAMPLE = "example";

/** `given`: the scenario; undefined for the invented one, or the cluster itself. */
export async function simulateCluster(given: string | undefined, args: Given): Promise<number> {
  if (!args["from-cluster"]) return simulateScenario(given ?? EXAMPLE, args);
  if (given !== undefined) throw errors.strayArgument("cluster simulate --from-cluster", given);
  const exported = await asking(args, (api) => scenarioOf(api, wallNow()));
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
    console.log(`cotenant cluster simulate ${scenario}`);
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
function simulateScenario(given: string, args: Given, more: readonly SchedulerKind[] = []): number {
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
  const shown = progressOf("cluster");
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
}

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
