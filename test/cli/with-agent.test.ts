// The commands that start an agent, ask it, stop it and run programs under it.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { lockDirectory } from "#agent";
import { cotenant, temporary, variables } from "./by-hand.ts";

/** The built libraries are not needed for what is looked at here. */
function withAgent() {
  const root = temporary();
  const env = { COTENANT_DIR: `${root}/run`, COTENANT_LIB: `${root}/libcotenant.so` };
  writeFileSync(env.COTENANT_LIB, "");
  onTestFinished(() => void cotenant(["down"], env));
  return { env, cotenant: (...args: string[]) => cotenant(args, env) };
}

test("up, status and down tell one story, and a second up is refused", () => {
  const { cotenant } = withAgent();
  const up = cotenant("up", "--gpu", "soft", "--policy", "off");
  expect(up.stdout).toMatch(/^Agent \d+ serves the software GPU, mode isolated, policy off\.\n/);
  expect(up.stdout).toMatch(
    /\nDashboard: http:\/\/127\.0\.0\.1:\d+\/dashboard .*\nNext: put "cotenant run --class high --" before the service and .*\n$/,
  );
  expect(up.status).toBe(0);
  const pid = Number(/\d+/.exec(up.stdout)?.[0]);

  const status = JSON.parse(cotenant("status", "--json").stdout);
  expect(status.agent).toMatchObject({ pid, mode: "isolated", policy: "off", gpu: "soft" });
  expect(cotenant("status").stdout).toMatch(`Agent ${pid}, up `);

  const again = cotenant("up", "--gpu", "soft");
  expect(again.stderr).toContain(`An agent is already running in`);
  expect(again.stderr).toContain(`(pid ${pid})`);
  expect(again.status).toBe(1);

  expect(cotenant("down").stdout).toBe(`Agent ${pid} stopped.\n`);
  expect(cotenant("status").status).toBe(1);
});

test("a command that looks in another directory is told where the agent is", () => {
  const agent = withAgent();
  agent.cotenant("up", "--gpu", "soft");
  const directory = `${temporary()}/elsewhere`;
  const { status, stderr } = cotenant(["status"], { COTENANT_DIR: directory });
  expect(stderr).toContain(
    `cotenant: No agent is running in ${directory}. Start one: "cotenant up".`,
  );
  expect(stderr).toMatch(/ One (for all users )?runs in (\/\S+); COTENANT_DIR=\2 leads to it\./);
  expect(status).toBe(1);
});

test("down names agents elsewhere, and the next command one that was killed", async () => {
  const { cotenant: here, env } = withAgent();
  here("up", "--gpu", "soft");
  const directory = `${temporary()}/elsewhere`;
  const down = cotenant(["down"], { COTENANT_DIR: directory });
  expect(down).toMatchObject({ status: 0, stderr: "" });
  expect(down.stdout).toMatch(
    /^No agent is running in \S+\/elsewhere\. One (for all users )?runs in (\/\S+); COTENANT_DIR=\2 leads to it\./,
  );
  const { pid } = JSON.parse(readFileSync(`${env.COTENANT_DIR}/agent.json`, "utf8"));
  process.kill(pid, "SIGKILL");
  await vi.waitFor(() => expect(here("status").status).toBe(1), { timeout: 60_000 });
  expect(here("status").stderr).toContain(
    `No agent is running in ${env.COTENANT_DIR}: agent ${pid} has ended without having been stopped. "cotenant logs" shows its last lines.`,
  );
  here("up", "--gpu", "soft");
  here("down");
  expect(here("status").stderr).not.toContain("without having been stopped");
});

test("events of a time say when there are none, take minutes and dates, and heed no closed pipe", () => {
  const { cotenant, env } = withAgent();
  cotenant("up", "--gpu", "soft");
  for (const since of ["3m", "1d", "2020-01-01", "2020-01-01 10:00"])
    expect(cotenant("events", "--since", since)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(" started "),
    });
  const none = cotenant("events", "--since", "2200-01-01");
  expect(none).toMatchObject({ status: 0, stdout: "" });
  expect(none.stderr).toMatch(/^cotenant: There is no event since 2\S+Z in \S+agent\.log\.\n$/);
  expect(cotenant("events", "--since", "soon").stderr).toContain(
    '--since: "soon" is not a time such as 90s, 3m, 2h or 1d, or a date such as',
  );
  const piped = spawnSync(
    "bash",
    ["-c", `set -o pipefail; "$0" bin/cotenant events --json | true`, process.execPath],
    { encoding: "utf8", env: { ...process.env, ...env } },
  );
  expect(piped).toMatchObject({ stderr: "" });
});

test("a cleaner of old files in /tmp sees that the agent's directory is in use", () => {
  const { cotenant, env } = withAgent();
  cotenant("up", "--gpu", "soft");
  const locked = () => spawnSync("flock", ["--nonblock", env.COTENANT_DIR, "true"]).status;
  expect(locked()).toBe(1);
  cotenant("down");
  expect(locked()).toBe(0);
});

test("an agent that can't start behind says why on the terminal", async () => {
  const { cotenant, env } = withAgent();
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const address = other.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const { stderr, status } = cotenant("up", "--gpu", "soft", "--port", String(port));
  expect(stderr).toBe(
    `cotenant: The agent did not start: Port ${port} is taken. Leave --port out for any free one. Its log is ${env.COTENANT_DIR}/agent.log.\n`,
  );
  expect(status).toBe(1);
});

test("an agent outlives SIGHUP, which daemons get when their log was moved, and the next one adds to its log", () => {
  const { cotenant, env } = withAgent();
  const log = `${env.COTENANT_DIR}/agent.log`;
  const starts = (path: string) => readFileSync(path, "utf8").match(/ starting$/gm)?.length;
  const pid = Number(/\d+/.exec(cotenant("up", "--gpu", "soft").stdout)?.[0]);
  process.kill(pid, "SIGHUP");
  expect(JSON.parse(cotenant("status", "--json").stdout).agent.pid).toBe(pid);
  cotenant("down");
  cotenant("up", "--gpu", "soft");
  cotenant("down");
  expect(starts(log)).toBe(2);
  truncateSync(log, 5 * 2 ** 20); // too long to be kept longer
  cotenant("up", "--gpu", "soft");
  expect(starts(log)).toBe(1);
  expect(starts(`${log}.1`)).toBe(2);
});

test("logs shows the last lines of the agent's log, also when the agent has ended", () => {
  const { cotenant, env } = withAgent();
  expect(cotenant("logs").stderr).toBe(
    `cotenant: There is no log ${env.COTENANT_DIR}/agent.log. No agent has been started there yet.\n`,
  );
  cotenant("up", "--gpu", "soft");
  expect(cotenant("logs").stdout).toMatch(/ starting\n.* started pid=\d+ .*\n$/);
  cotenant("down");
  expect(cotenant("logs", "--lines", "1").stdout).toMatch(/^\S+ stopping because="asked to"\n$/);
});

test("logs --follow goes on with the log of the next agent, also when the log was put aside", async () => {
  const { cotenant, env } = withAgent();
  cotenant("up", "--gpu", "soft");
  const follower = spawn(process.execPath, ["bin/cotenant", "logs", "--lines", "1", "--follow"], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  follower.stdout.on("data", (chunk) => (said += chunk));
  await vi.waitFor(() => expect(said).toContain("started"), { timeout: 60_000 });
  cotenant("down");
  await vi.waitFor(() => expect(said).toContain("stopping"), { timeout: 60_000 });
  renameSync(`${env.COTENANT_DIR}/agent.log`, `${env.COTENANT_DIR}/agent.log.1`);
  cotenant("up", "--gpu", "soft");
  await vi.waitFor(() => expect(said).toMatch(/stopping.*\n.* starting\n.* started/), {
    timeout: 60_000,
  });
  follower.kill("SIGTERM");
  expect(await once(follower, "exit")).toEqual([0, null]);
});

test("an agent on a full disk does not start, and says why", () => {
  const { cotenant, env } = withAgent();
  mkdirSync(env.COTENANT_DIR, { mode: 0o700 });
  symlinkSync("/dev/full", `${env.COTENANT_DIR}/agent.log`);
  const { stderr, status } = cotenant("up", "--gpu", "soft");
  expect(stderr).toMatch(
    /^cotenant: .+\/agent\.log can't be written: no space left on device\. Make room on that disk\.\n$/,
  );
  expect(status).toBe(1);
  // Nor does it read that log for ever to say that none runs.
  expect(cotenant("down").stdout).toMatch(/^No agent is running/);
});

const mayMount =
  spawnSync("unshare", ["--mount", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;
if (!mayMount) console.error("SKIPPED: a disk that is full, because mount is not allowed.");

test.skipIf(!mayMount)("an agent does not start where only the line in its log still fits", () => {
  const { env } = withAgent();
  mkdirSync(env.COTENANT_DIR, { mode: 0o700 });
  const script = `mount -t tmpfs -o size=64k,mode=700 none "$COTENANT_DIR"
    touch "$COTENANT_DIR/agent.log"
    echo before > "$COTENANT_DIR/agent.log" # the rest of its page is free
    cat /dev/zero > "$COTENANT_DIR/full" 2> /dev/null || true
    exec "$0" bin/cotenant up --gpu soft`;
  const { stderr, status } = spawnSync(
    "unshare",
    ["--mount", "sh", "-ec", script, process.execPath],
    {
      env: { ...process.env, ...env },
      encoding: "utf8",
    },
  );
  expect(stderr).toBe(
    `cotenant: ${env.COTENANT_DIR}/agent.log can't be written: no space left on device. Make room on that disk.\n`,
  );
  expect(status).toBe(1);
});

test.each([
  { options: ["--quantum", "5"], says: '--quantum: "5" is not a time such as' },
  { options: ["--quantum", "0s"], says: '--quantum: "0s" is not auto or a time from 100ms on.' },
  { options: ["--host-guard", "cpus=0,9999"], says: "--host-guard cpus=0,9999: not all of them" },
])("up $options is refused before anything is started", ({ options, says }) => {
  const { cotenant, env } = withAgent();
  const { stderr, status } = cotenant("up", "--gpu", "soft", ...options);
  expect(stderr).toContain(`cotenant: ${says}`);
  expect(status).toBe(2);
  expect(existsSync(env.COTENANT_DIR)).toBe(false);
});

test.each([
  { name: "", says: "is empty" },
  { name: " ", says: "is empty" },
  { name: "two\nlines", says: "holds a control character" },
  { name: "ü".repeat(24), says: "has 48 bytes; 47 are the most" },
])("a client can't be called $name", ({ name, says }) => {
  const { cotenant } = withAgent();
  const { stderr, status } = cotenant("run", "--class", "high", "--name", name, "--", "true");
  expect(stderr).toBe(`cotenant: --name: the name ${says}.\n`);
  expect(status).toBe(2);
});

test("top without a terminal is as wide as COLUMNS says", () => {
  const agent = withAgent();
  agent.cotenant("up", "--gpu", "soft");
  const wide = (columns: string) =>
    cotenant(["top", "--once"], { ...agent.env, COLUMNS: columns }).stdout.split("\n");
  expect(Math.max(...wide("40").map((line) => line.length))).toBeLessThanOrEqual(40);
  expect(Math.max(...wide("none").map((line) => line.length))).toBeGreaterThan(40);
});

test("a run directory that others can enter is neither used nor read", () => {
  const { cotenant, env } = withAgent();
  mkdirSync(env.COTENANT_DIR);
  chmodSync(env.COTENANT_DIR, 0o755);
  for (const argv of [["up", "--gpu", "soft"], ["status"], ["down"]]) {
    const { stderr, status } = cotenant(...argv);
    expect(stderr).toBe(
      `cotenant: The directory ${env.COTENANT_DIR} can be entered by others. Run "chmod 700 ${env.COTENANT_DIR}", or set COTENANT_DIR to a directory that only you can enter.\n`,
    );
    expect(status).toBe(1);
  }
});

test("a library that the loader would split at a blank is refused: the job would run ungated", () => {
  const { cotenant, env } = withAgent();
  cotenant("up", "--gpu", "soft");
  const folder = `${temporary()}/a folder`;
  mkdirSync(folder);
  symlinkSync(env.COTENANT_LIB, `${folder}/libcotenant.so`);
  env.COTENANT_LIB = `${folder}/libcotenant.so`;
  const { stdout, stderr, status } = cotenant("run", "--class", "high", "--", "echo", "ran");
  expect(stderr).toContain("LD_PRELOAD ends a path at a blank or a colon");
  expect([stdout, status]).toEqual(["", 1]);
});

test("an agent that is just starting is not said to be missing", () => {
  const { cotenant, env } = withAgent();
  mkdirSync(env.COTENANT_DIR, { mode: 0o700 });
  onTestFinished(lockDirectory(env.COTENANT_DIR));
  const { stderr, status } = cotenant("run", "--class", "best-effort", "--", "true");
  expect(stderr).toMatch(
    /^cotenant: An agent holds .+ just starting or ending\. Try again in a moment\.\n$/,
  );
  expect(status).toBe(1);
});

test("run becomes the command: its environment, its pid, its exit status", () => {
  const { cotenant, env } = withAgent();
  cotenant("up", "--gpu", "soft", "--mode", "mps");
  const { stdout, status } = cotenant(
    ...["run", "--class", "best-effort", "--memory", "2GiB", "sh", "-c", "env; exit 7"],
  );
  expect(variables(stdout)).toMatchObject({
    LD_PRELOAD: env.COTENANT_LIB,
    COTENANT_CLASS: "best-effort",
    COTENANT_SOCKET: `${env.COTENANT_DIR}/agent.sock`,
    COTENANT_NAME: "sh",
    COTENANT_MEMORY: String(2 ** 31),
    COTENANT_SOFTGPU_DIR: `${env.COTENANT_DIR}/softgpu`,
    CUDA_MPS_PIPE_DIRECTORY: `${env.COTENANT_DIR}/mps`,
    CUDA_MPS_CLIENT_PRIORITY: "1",
  });
  expect(status).toBe(7);
  const asked = ["--slo", "p99=10ms", "--slo", "slowdown=5%", "--name", "serve"];
  const high = cotenant("run", "--class", "high", ...asked, "--", "env");
  expect(variables(high.stdout)).toMatchObject({
    COTENANT_CLASS: "high",
    COTENANT_NAME: "serve",
    COTENANT_SLO: "p99=10ms slowdown=5%",
    COTENANT_SLO_P99_US: "10000",
    COTENANT_SLO_SLOWDOWN: "50",
    CUDA_MPS_CLIENT_PRIORITY: "0",
  });
});
