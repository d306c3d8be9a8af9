// The program that is started is a script of our own, in place of the one that runs these tests.
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { exampleAgent } from "../../test/agent/example.ts";
import { startInBackground } from "./background.ts";
import { pathsIn, runningAgent } from "./directory/state.ts";

/** Says that it serves, and does so until it is killed. */
const serves = `
import { readFileSync, renameSync, writeFileSync } from "node:fs";
const stat = readFileSync("/proc/self/stat", "utf8");
const startTime = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
const [, , directory, ...args] = process.argv;
const file = directory + "/agent.json";
console.log("serving " + args.join(" "));
writeFileSync(file + ".new", JSON.stringify({ ...FILE, pid: process.pid, startTime }));
renameSync(file + ".new", file);
setInterval(() => {}, 1000);
`.replace("FILE", JSON.stringify(exampleAgent));

function start(script: string) {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-background-`);
  const program = `${directory}/program.mjs`;
  const { log } = pathsIn(directory);
  const [argument, execArgv] = [process.argv[1] ?? "", process.execArgv];
  process.argv[1] = program;
  process.execArgv = [];
  onTestFinished(() => {
    process.argv[1] = argument;
    process.execArgv = execArgv;
    const pid = runningAgent(directory)?.pid;
    if (pid) process.kill(pid, "SIGKILL");
    rmSync(directory, { recursive: true });
  });
  return {
    directory,
    log,
    said: () => readFileSync(log, "utf8"),
    run(again = script) {
      writeFileSync(program, again);
      return startInBackground(directory, [directory, "up", "--mode", "mps"]);
    },
  };
}

test("the agent serves when its start returns, with its arguments, in a session of its own", async () => {
  const { run, directory, said } = start(serves);
  await run();
  const { pid = 0 } = runningAgent(directory) ?? {};
  const [, , , , group, session] = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/\(.*\)/s, "()")
    .split(" ");
  expect([group, session]).toEqual([`${pid}`, `${pid}`]);
  expect(said()).toMatch(/^\S+Z starting\nserving up --mode mps\n$/);
});

test("only the owner can read the log", async () => {
  const { run, log } = start(serves);
  await run();
  expect(statSync(log).mode & 0o777).toBe(0o600);
});

test("an agent that does not start is reported with what it said last for people", async () => {
  const { run, log } = start(
    'console.log("cotenant: The first.\\ncotenant: The port is taken.\\n  Use another one.\\nmore"); process.exit(1);',
  );
  await expect(run()).rejects.toThrow("The agent did not start: The port is taken.");
  await expect(run()).rejects.toMatchObject({ hint: expect.stringContaining(log) });
});

test("an agent that said nothing for people is reported with how it ended, whatever the one before it said", async () => {
  const { run, said } = start('console.log("cotenant: The port is taken."); process.exit(1);');
  await expect(run()).rejects.toThrow("The port is taken.");
  await expect(run('console.error("Error: a fault"); process.exit(3);')).rejects.toThrow(
    "The agent did not start: it ended by status 3.",
  );
  await expect(
    run('process.kill(process.pid, "SIGKILL"); setInterval(() => {}, 9);'),
  ).rejects.toThrow("The agent did not start: it ended by SIGKILL.");
  expect(said().match(/ starting$/gm)).toHaveLength(3);
  expect(said()).toContain("Error: a fault");
});

test("a log that has grown long is put aside at the next start, in place of the one before", async () => {
  const { run, log, said } = start("process.exit(1);");
  const again = () => run().catch(() => {});
  await again();
  appendFileSync(log, "kept\n");
  truncateSync(log, 4 * 2 ** 20);
  await again();
  expect(said()).toContain("kept");
  expect(existsSync(`${log}.1`)).toBe(false);
  await again();
  expect(said()).toMatch(/^\S+Z starting\n$/);
  expect(readFileSync(`${log}.1`, "utf8")).toContain("kept");
});

test("a log that can't be written is an error that names it", async () => {
  const { directory } = start(serves);
  const missing = `${directory}/missing`;
  await expect(startInBackground(missing, [])).rejects.toThrow(pathsIn(missing).log);
});
