import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { identified } from "../../../test/agent/fakes.ts";
import { type Identity, identityOf } from "../tenants/index.ts";
import { jobId, jobNameOf, ownJob } from "./job-name.ts";

const ofClass = { COTENANT_CLASS: "best-effort" };

/** The process that says its pid, which the program may have started. */
async function started(program: readonly string[], env: Readonly<Record<string, string>>) {
  const [command = "", ...args] = program;
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill());
  for await (const line of createInterface({ input: child.stdout })) {
    const identity = identityOf(Number(line));
    if (identity) return { ...identity, container: undefined };
  }
  throw new Error("it has ended");
}

const shell = ["sh", "-c", "echo $$; read end"];

/** As a program that changes its title does. It ends with its input. */
const overwriting = `
import ctypes, os, sys
environ = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
for i in range(len(os.environ)):
    ctypes.memset(environ[i], 0, len(ctypes.string_at(environ[i])))
print(os.getpid(), flush=True)
sys.stdin.read()
`;

test("a process belongs to the job that its environment names, and by its launcher it has a number", async () => {
  const named = await started(shell, { ...ofClass, COTENANT_JOB: "a" });
  expect(jobNameOf(named)).toEqual({ text: "a", rank: undefined });
  const rank = await started(shell, {
    ...{ ...ofClass, COTENANT_JOB: "b", WORLD_SIZE: "2", RANK: "1" },
    ...{ MASTER_ADDR: "localhost", MASTER_PORT: "1" },
  });
  expect(jobNameOf(rank)).toEqual({ text: "b", rank: 1 });
});

test("a process that overwrote its environment belongs to the job of its parent", async () => {
  const env = { ...ofClass, COTENANT_JOB: "a" };
  const child = await started(["sh", "-c", 'python3 -c "$0"; true', overwriting], env);
  expect(jobNameOf(child).text).toBe("a");
});

test("a client that was started without the name of a job is a job of its own, but in a container one of all that is in it", async () => {
  const alone = await started(shell, ofClass);
  expect(jobNameOf(alone)).toEqual(ownJob);
  const inside = { ...alone, container: "c0ffee" };
  expect(jobNameOf(inside).text).toBe("its container");
});

const client = (pid: number, text: string | undefined, of: Partial<Identity> = {}) => ({
  ...{ class: "best-effort" as const, pid, startTime: 1 },
  ...{ identity: identified(pid, of), job: { text, rank: undefined } },
});

test("clients that name the same job are of one job, if they are of one tenant and one class", () => {
  const id = jobId(client(1, "a"));
  expect(jobId(client(2, "a"))).toBe(id);
  expect(jobId(client(2, "b"))).not.toBe(id);
  expect(jobId(client(2, "a", { uid: 1001 }))).not.toBe(id);
  expect(jobId(client(2, "a", { container: "c0ffee" }))).not.toBe(id);
  expect(jobId({ ...client(2, "a"), class: "high" })).not.toBe(id);
  expect(jobId(client(1, undefined))).not.toBe(jobId(client(2, undefined)));
});
