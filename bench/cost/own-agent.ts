// An agent of a measurement's own, in a directory of its own, with what is started beside it.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type AgentFile, runningAgent, type Status } from "#agent";

export const cotenant = [process.execPath, "bin/cotenant"] as const;

export interface OwnAgent {
  readonly directory: string;
  /** Throws if it has ended. */
  file(): AgentFile;
  start(program: readonly string[]): ChildProcess;
  /** Resolves when the program has said this on stderr; rejects if it ends before. */
  saying(text: string, program: readonly string[]): Promise<ChildProcess>;
  /** The first GPU's UUID, as 32 hexadecimal digits; of the software GPU once a client has come. */
  gpu(): Promise<string>;
  /** Processes that hold slots and do nothing. Of native/tests. */
  takePlaces(kind: "high" | "best-effort", count: number): Promise<void>;
}

/** Ends all that was started when `measure` ends. */
export async function withOwnAgent<T>(
  gpuKind: string,
  measure: (agent: OwnAgent) => Promise<T>,
): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "cotenant-cost-"));
  const env = { ...process.env, COTENANT_DIR: directory };
  const children: ChildProcess[] = [];
  const start: OwnAgent["start"] = ([command = "", ...args]) => {
    const child = spawn(command, args, { env, stdio: ["pipe", "pipe", "pipe"] });
    children.push(child);
    return child;
  };
  const run = (...args: readonly string[]) =>
    new Promise<void>((resolve) => {
      start([...cotenant, ...args]).on("exit", () => resolve());
    });
  const file = () => {
    const agent = runningAgent(directory);
    if (!agent) throw new Error("the agent has ended");
    return agent;
  };
  const gpu = async () => {
    const { port, token } = file();
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`http://127.0.0.1:${port}/status`, { headers });
    const { gpus } = (await answer.json()) as Status;
    return (gpus[0]?.uuid ?? "").replace(/^GPU-/, "").replaceAll("-", "");
  };
  try {
    await run("up", "--gpu", gpuKind);
    return await measure({
      directory,
      file,
      start,
      gpu,
      async saying(text, program) {
        const child = start(program);
        if (child.stderr)
          for await (const line of createInterface({ input: child.stderr }))
            if (line.includes(text)) return child;
        throw new Error(`it ended without saying "${text}": ${program.join(" ")}`);
      },
      async takePlaces(kind, count) {
        const child = start([
          "build/native/tests/places",
          file().socket,
          kind,
          `${count}`,
          await gpu(),
        ]);
        let taken = 0;
        if (child.stdout)
          for await (const _ of createInterface({ input: child.stdout }))
            if (++taken === count) return;
      },
    });
  } finally {
    await run("down");
    for (const child of children) child.kill("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  }
}
