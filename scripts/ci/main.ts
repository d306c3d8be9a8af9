// Runs the suites of CI whose inputs have changed since they passed. Usage: npm run ci -- [--all] [--dry-run]
// COTENANT_CI=all does what --all does. The last line counts tests; the exit status is 1 if something failed.
import { parseArgs } from "node:util";
import { type Choice, choose } from "./choice.ts";
import { commandsOf, execute, mayNotSkip, type Outcome } from "./execute.ts";
import { headOf, historyOf } from "./git.ts";
import { graphOf } from "./graph.ts";
import { dependenciesOf, hashesOf, inputsOf } from "./inputs.ts";
import { describeMachine } from "./machine.ts";
import { Records, recordFolders } from "./record.ts";
import { runAll } from "./schedule.ts";
import { type Preparation, preparations, suites } from "./suites.ts";
import { workingTree } from "./tree.ts";

/** Test files at a time of a suite that computes, beside one that waits. */
const WORKERS = 2;
/** Niceness of preparations: tests come first, and on a machine with other work compilers still get a share. */
const NICENESS = 10;
/** Niceness of patient suites: agents and clients of the tests beside them get the CPU when they need it. */
const PATIENT_NICENESS = 5;

const root = process.cwd();
const { values } = parseArgs({
  options: { all: { type: "boolean" }, "dry-run": { type: "boolean" } },
});

const clock = performance.now();
const commit = headOf(root);
const [first, ...others] = recordFolders();
const records = new Records(first);
const written = [records, ...others.map((folder) => new Records(folder))];
const minutes = (seconds: number): string => `${(seconds / 60).toFixed(1)} min`;

try {
  const choice = chooseHere();
  print(choice);
  if (!values["dry-run"]) process.exitCode = await run(choice);
} catch (error) {
  // Such as a file that can't be parsed. CI reads the last line of every run.
  console.log(`FAILED ci: ${(error as Error).message}`);
  console.log("Tests: 0 passed, 1 failed, 0 skipped");
  process.exitCode = 1;
}

function chooseHere(): Choice {
  const tree = workingTree(root);
  const dependencies = dependenciesOf(suites, tree, graphOf(tree));
  const inputs = inputsOf(dependencies, hashesOf(tree), describeMachine());
  const request = values.all ? "--all" : process.env.COTENANT_CI === "all" ? "COTENANT_CI=all" : "";
  return choose(inputs, records, historyOf(root), request ? `${request} is given` : undefined);
}

function print({ all, suites }: Choice): void {
  if (all !== undefined) console.log(`ci: all suites run: ${all}.`);
  for (const { inputs, runs, reason } of suites)
    console.log(`ci: ${runs ? "run " : "skip"} ${inputs.suite.name}: ${reason}.`);
}

/** Returns the exit status. */
async function run({ all, suites }: Choice): Promise<0 | 1> {
  const outcomes = new Map<string, Outcome>();
  const chosen = suites.filter(({ runs }) => runs).map(({ inputs }) => inputs);
  const fullRun = { commit, at: new Date().toISOString() };
  if (all !== undefined)
    records.beginFullRun(
      fullRun,
      chosen.map(({ suite }) => suite.name),
    );
  const needed = new Set(chosen.flatMap(({ suite }) => suite.needs ?? []));
  await runAll(
    chosen.map(({ suite }) => suite),
    async ({ name }) => {
      const one = chosen.find(({ suite }) => suite.name === name);
      if (!one) return;
      say(`${name} starts.`);
      const countsTests = one.tests.length > 0;
      const { patient } = one.suite;
      const outcome = await execute(name, commandsOf(one, WORKERS), {
        countsTests,
        mayNotSkip: mayNotSkip(one.suite, process.env),
        nice: patient ? PATIENT_NICENESS : 0,
      });
      outcomes.set(name, outcome);
      const { passed, failed, skipped } = outcome.counts;
      const verdict = outcome.ok ? "passed" : "FAILED";
      console.log(outcome.output.replace(/^Tests: /gm, "counted: ").trimEnd());
      say(
        `${name} ${verdict} in ${minutes(outcome.seconds)}: ${passed} passed, ${failed} failed, ${skipped} skipped.`,
      );
      if (!outcome.ok) return;
      const at = new Date().toISOString();
      const pass = { hash: one.hash, commit, at, seconds: outcome.seconds, tests: passed };
      for (const each of written) each.add(name, pass, one.files);
    },
    async (preparation) => {
      const commands = [preparations[preparation]];
      const { ok, seconds, output } = await execute(preparation, commands, {
        countsTests: false,
        nice: NICENESS,
      });
      if (!ok) console.log(output);
      say(`the preparation ${preparation} ${ok ? "is done" : "FAILED"} after ${minutes(seconds)}.`);
    },
    (Object.keys(preparations) as Preparation[]).filter((one) => needed.has(one)),
  );
  // Elsewhere it counts when it has ended: passes that are noted there stay.
  if (all !== undefined) for (const each of written.slice(1)) each.setFullRun(fullRun);
  return summary(outcomes);
}

function say(sentence: string): void {
  console.log(`ci: ${minutes((performance.now() - clock) / 1000)}: ${sentence}`);
}

/** Prints what each suite took, what failed, and, last, how many tests ran. */
function summary(outcomes: ReadonlyMap<string, Outcome>): 0 | 1 {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const [name, { seconds, counts }] of outcomes) {
    console.log(`ci: ${minutes(seconds)} ${name}`);
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped += counts.skipped;
  }
  const retried = [...outcomes.values()].flatMap((outcome) => outcome.retried);
  for (const line of retried) console.log(line);
  if (retried.length > 0) console.log(`Tests that were tried again: ${retried.length}`);
  for (const { failures } of outcomes.values()) for (const line of failures) console.log(line);
  console.log(`Tests: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  return total.failed > 0 || total.passed === 0 ? 1 : 0;
}
