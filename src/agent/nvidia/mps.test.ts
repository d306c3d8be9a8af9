// The daemon's keeper, against a control program of our own that keeps its daemon's pid in the pipe
// directory and notes what it was told.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { startTimeOf } from "../system/index.ts";
import { startMps, startSoftMps } from "./mps.ts";

const fakeControl = `#!/bin/sh
pid_file="$CUDA_MPS_PIPE_DIRECTORY/daemon.pid"
alive() { [ -f "$pid_file" ] && grep -qv ') Z ' "/proc/$(cat "$pid_file")/stat" 2>/dev/null; }
if [ "$1" = "-d" ]; then
  echo "start preload=$LD_PRELOAD" >>"$CUDA_MPS_LOG_DIRECTORY/told"
  alive && exit 1
  sleep 1000 >/dev/null 2>&1 &
  echo $! >"$pid_file"
  exit 0
fi
read -r command
alive || { echo "Cannot find MPS control daemon process"; exit 1; }
if [ "$command" = quit ]; then
  echo quit >>"$CUDA_MPS_LOG_DIRECTORY/told"
  kill "$(cat "$pid_file")"
  rm "$pid_file"
fi
`;

function place() {
  const root = mkdtempSync(`${tmpdir()}/cotenant-mps-`);
  const folders = { pipes: `${root}/mps`, logs: `${root}/mps-log` };
  mkdirSync(`${root}/bin`);
  writeFileSync(`${root}/bin/nvidia-cuda-mps-control`, fakeControl);
  chmodSync(`${root}/bin/nvidia-cuda-mps-control`, 0o755);
  const daemonPid = () => Number(readFileSync(`${folders.pipes}/daemon.pid`, "utf8"));
  const kill = () => process.kill(daemonPid(), "SIGKILL");
  onTestFinished(() => {
    if (existsSync(`${folders.pipes}/daemon.pid`) && isAlive(daemonPid())) kill();
    rmSync(root, { recursive: true });
  });
  const log: string[] = [];
  return {
    folders,
    daemonPid,
    kill,
    log,
    start: (env: Record<string, string> = {}) =>
      startMps(
        folders,
        { ...process.env, PATH: `${root}/bin:${process.env.PATH}`, ...env },
        (event) => log.push(event),
      ),
    told: () => readFileSync(`${folders.logs}/told`, "utf8").trim().split("\n"),
  };
}

const isAlive = (pid: number) => startTimeOf(pid) !== undefined;

test("the daemon is started without our preload, and told to quit at the end", async () => {
  const { start, told, daemonPid } = place();
  const mps = await start({ LD_PRELOAD: "" });
  const pid = daemonPid();
  expect(isAlive(pid)).toBe(true);
  await mps.stop();
  expect(told()).toEqual(["start preload=", "quit"]);
  await expect.poll(() => isAlive(pid)).toBe(false);
});

test("a daemon that was killed is started again at the next look, once", async () => {
  const { start, told, daemonPid, kill, log } = place();
  const mps = await start();
  await mps.check();
  const pid = daemonPid();
  kill();
  await expect.poll(() => isAlive(pid)).toBe(false);
  await mps.check();
  await mps.check();
  expect(mps.restarts).toBe(1);
  expect(log).toEqual(["mps restarted"]);
  await mps.stop();
  expect(told()).toEqual(["start preload=", "start preload=", "quit"]);
});

test("a daemon that somebody else started is used, and not told to quit", async () => {
  const { start, folders, daemonPid } = place();
  const theirs = await start();
  rmSync(`${folders.pipes}/started-by-cotenant`); // now nobody knows that it was us
  const mps = await start();
  await mps.stop();
  expect(isAlive(daemonPid())).toBe(true);
  await theirs.stop();
  expect(isAlive(daemonPid())).toBe(true);
});

test("the daemon of the agent before is taken over, and told to quit by this one", async () => {
  const { start, told, daemonPid } = place();
  await start();
  const pid = daemonPid();
  const mps = await start();
  expect(daemonPid()).toBe(pid);
  await mps.stop();
  expect(told()).toEqual(["start preload=", "quit"]);
});

test("without the control program the reason is said", async () => {
  const { start } = place();
  await expect(start({ PATH: "/nowhere" })).rejects.toThrow(
    "NVIDIA MPS could not be started: nvidia-cuda-mps-control is not installed.",
  );
});

test("the software GPU's MPS is a file that goes away with it", async () => {
  const { folders } = place();
  const mps = startSoftMps(folders);
  expect(existsSync(`${folders.pipes}/softgpu-mps`)).toBe(true);
  await mps.stop();
  expect(existsSync(`${folders.pipes}/softgpu-mps`)).toBe(false);
});
