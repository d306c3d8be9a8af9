// The manager of the MPS daemon, against a control program made for the test. That program keeps its daemon's pid in
// the pipe directory and records what it is told. Instead of starting its daemon it may do something else.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { logLine } from "../log/log.ts";
import { startTimeOf } from "../system/index.ts";
import { startMps, startSoftMps } from "./mps.ts";

const fakeControl = `#!/bin/sh
pid_file="$CUDA_MPS_PIPE_DIRECTORY/daemon.pid"
broken="$(dirname "$0")/broken"
alive() { [ -f "$pid_file" ] && grep -qv ') Z ' "/proc/$(cat "$pid_file")/stat" 2>/dev/null; }
if [ "$1" = "-d" ]; then
  echo "start preload=$LD_PRELOAD" >>"$CUDA_MPS_LOG_DIRECTORY/told"
  [ -f "$broken" ] && . "$broken"
  alive && exit 1
  sleep 1000 >/dev/null 2>&1 &
  echo $! >"$pid_file"
  echo $! >"$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid"
  exit 0
fi
[ $# -eq 0 ] || exit 2
read -r command
[ "$CUDA_MPS_PROTOCOL_VERSION" = 3 ] && exit 1
[ -f "$(dirname "$0")/silent" ] && exit 1
case "$command" in quit | get_*) ;; *) exit 2 ;; esac
alive || { echo "Cannot find MPS control daemon process"; exit 1; }
answers="$(dirname "$0")/answers/$command"
[ -f "$answers" ] && cat "$answers"
if [ "$command" = quit ]; then
  echo quit >>"$CUDA_MPS_LOG_DIRECTORY/told"
  kill "$(cat "$pid_file")"
  rm "$pid_file"
fi
`;

function place() {
  const root = mkdtempSync(`${tmpdir()}/cotenant-mps-`);
  const folders = { pipes: `${root}/mps`, logs: `${root}/mps-log` };
  const control = `${root}/bin/nvidia-cuda-mps-control`;
  mkdirSync(`${root}/bin`);
  const install = () => {
    writeFileSync(control, fakeControl);
    chmodSync(control, 0o755);
  };
  install();
  const daemonPid = () => Number(readFileSync(`${folders.pipes}/daemon.pid`, "utf8"));
  const kill = () => process.kill(daemonPid(), "SIGKILL");
  onTestFinished(() => {
    if (existsSync(`${folders.pipes}/daemon.pid`) && isAlive(daemonPid())) kill();
    rmSync(root, { recursive: true });
  });
  const log: string[] = [];
  return {
    folders,
    mark: `${folders.pipes}/started-by-cotenant`,
    install,
    uninstall: () => rmSync(control),
    /** Shell commands that run instead of the daemon's start. */
    instead: (script: string) => writeFileSync(`${root}/bin/broken`, script),
    /** The daemon answers nothing. */
    silence: () => writeFileSync(`${root}/bin/silent`, ""),
    /** It prints this for a command. A real daemon printed such lines. */
    answers: (command: string, text: string) => {
      mkdirSync(`${root}/bin/answers`, { recursive: true });
      writeFileSync(`${root}/bin/answers/${command}`, text);
    },
    daemonPid,
    kill,
    log,
    start: (env: Record<string, string> = {}) =>
      startMps(
        folders,
        { ...process.env, PATH: `${root}/bin:${process.env.PATH}`, ...env },
        (event, facts) => log.push(logLine(event, facts)),
      ),
    told: () => readFileSync(`${folders.logs}/told`, "utf8").trim().split("\n"),
  };
}

const isAlive = (pid: number) => startTimeOf(pid) !== undefined;

test("the daemon is started without the interposer preloaded, and told to quit at the end", async () => {
  const { start, told, daemonPid } = place();
  const mps = await start({ LD_PRELOAD: "" });
  const pid = daemonPid();
  expect(isAlive(pid)).toBe(true);
  await mps.stop();
  expect(told()).toEqual(["start preload=", "quit"]);
  await expect.poll(() => isAlive(pid)).toBe(false);
});

test("a daemon is started and ended by the words of protocol 2, though the environment asks for 3", async () => {
  const { start, daemonPid } = place();
  const mps = await start({ CUDA_MPS_PROTOCOL_VERSION: "3" });
  const pid = daemonPid();
  expect(isAlive(pid)).toBe(true);
  await mps.stop();
  await expect.poll(() => isAlive(pid)).toBe(false);
});

test("a daemon that does not answer after its start is ended, and nothing says that it is ours", async () => {
  const { start, silence, daemonPid, mark } = place();
  silence();
  await expect(start()).rejects.toThrow("NVIDIA MPS could not be started: it does not answer.");
  await expect.poll(() => isAlive(daemonPid())).toBe(false);
  expect(existsSync(mark)).toBe(false);
});

test("a daemon that was killed is started again at the next sample, once", async () => {
  const { start, told, daemonPid, kill, log } = place();
  const mps = await start();
  await mps.check();
  const pid = daemonPid();
  kill();
  await expect.poll(() => isAlive(pid)).toBe(false);
  await mps.check();
  await mps.check();
  expect(mps.restarts).toBe(1);
  expect(log).toEqual(['mps restarted because="it no longer answers"']);
  await mps.stop();
  expect(told()).toEqual(["start preload=", "start preload=", "quit"]);
});

test("a daemon that another program started is used, and not told to quit", async () => {
  const { start, mark, log, daemonPid } = place();
  const theirs = await start();
  rmSync(mark); // now nothing shows that the agent started it
  const mps = await start();
  expect(log).toEqual(["mps found ours=no"]);
  await mps.stop();
  expect(isAlive(daemonPid())).toBe(true);
  await theirs.stop();
  expect(isAlive(daemonPid())).toBe(true);
});

test("the daemon of the previous agent is taken over, and this agent tells it to quit", async () => {
  const { start, told, log, daemonPid } = place();
  await start();
  const pid = daemonPid();
  const mps = await start();
  expect(daemonPid()).toBe(pid);
  expect(log).toEqual(["mps found ours=yes"]);
  await mps.stop();
  expect(told()).toEqual(["start preload=", "quit"]);
});

test("a daemon that died is started once, however many looks find it dead at the same time", async () => {
  const { start, told, daemonPid, kill } = place();
  const mps = await start();
  const pid = daemonPid();
  kill();
  await expect.poll(() => isAlive(pid)).toBe(false);
  await Promise.all([mps.check(), mps.check()]);
  expect(mps.restarts).toBe(1);
  expect(told()).toHaveLength(2);
  await mps.stop();
});

test("a daemon that was told to quit is not started again", async () => {
  const { start, told } = place();
  const mps = await start();
  await mps.stop();
  await mps.check();
  expect(told()).toEqual(["start preload=", "quit"]);
  expect(mps.restarts).toBe(0);
});

test("a daemon that can't be started again is reported, and the next sample tries once more", async () => {
  const { start, uninstall, install, log, daemonPid, kill } = place();
  const mps = await start();
  const pid = daemonPid();
  kill();
  await expect.poll(() => isAlive(pid)).toBe(false);
  uninstall();
  await mps.check();
  expect(log.at(-1)).toBe(
    'mps failed because="NVIDIA MPS could not be started: nvidia-cuda-mps-control is not installed."',
  );
  install();
  await mps.check();
  expect(isAlive(daemonPid())).toBe(true);
  await mps.stop();
});

test("the control program's last line is the reason, and a daemon that did not start is not told to quit", async () => {
  const { start, instead, mark } = place();
  instead('echo "Starting." >&2; echo "The pipe directory is full." >&2; echo >&2; exit 1');
  await expect(start()).rejects.toThrow(
    /^NVIDIA MPS could not be started: The pipe directory is full\./,
  );
  expect(existsSync(mark)).toBe(false);
});

test.each([
  { what: "starts nothing", script: "exit 0" },
  {
    what: "is killed when it is asked",
    script: `printf '#!/bin/sh\\nkill -9 $$\\n' >"$0"; exit 0`,
  },
])("a control program that $what is a daemon that does not answer", async ({ script }) => {
  const { start, instead } = place();
  instead(script);
  await expect(start()).rejects.toThrow("NVIDIA MPS could not be started: it does not answer.");
});

test("other users can neither enter the directories nor read what is in them", async () => {
  const { start, folders, mark } = place();
  const soft = startSoftMps(folders);
  const mps = await start();
  const modes = [folders.pipes, folders.logs, mark, `${folders.pipes}/softgpu-mps`].map(
    (path) => statSync(path).mode & 0o777,
  );
  expect(modes).toEqual([0o700, 0o700, 0o600, 0o600]);
  await mps.stop();
  await soft.stop();
  await soft.stop(); // nothing is left to do
});

test("without the control program the error gives the reason", async () => {
  const { start } = place();
  await expect(start({ PATH: "/nowhere" })).rejects.toThrow(
    "NVIDIA MPS could not be started: nvidia-cuda-mps-control is not installed.",
  );
});

test("the software GPU's MPS is a file, which is removed at the end", async () => {
  const { folders } = place();
  const mps = startSoftMps(folders);
  expect(existsSync(`${folders.pipes}/softgpu-mps`)).toBe(true);
  await mps.stop();
  expect(existsSync(`${folders.pipes}/softgpu-mps`)).toBe(false);
});

test("a server that met an error is told, with its clients, until it has none", async () => {
  const { start, answers, log } = place();
  const mps = await start();
  answers("get_server_list", "4696\n");
  answers("get_server_status 4696", "ACTIVE\n");
  answers("get_client_list 4696", "4592\n5478\n");
  await mps.check();
  expect(mps.error).toBeUndefined();
  answers("get_server_status 4696", "FAULT\n");
  await mps.check();
  await mps.check();
  const because =
    "MPS met a fatal GPU error of one of its clients. CUDA calls of all fail, and no program can join, until they are restarted: pid 4592, 5478";
  expect(mps.error).toBe(because);
  answers("get_client_list 4696", "");
  await mps.check();
  const unlisted = because.replace("4592, 5478", "unknown");
  expect(mps.error).toBe(unlisted);
  answers("get_server_list", "");
  await mps.check();
  expect(mps.error).toBeUndefined();
  expect(log).toEqual([
    `mps broken because="${because}"`,
    `mps broken because="${unlisted}"`,
    "mps recovered",
  ]);
  await mps.stop();
});
