// The interface of a container runtime for the tests.
import { type ChildProcess, spawn } from "node:child_process";
import type { CdiDocument } from "#client";
import type { ClientClass } from "#protocol";

export interface ContainerOptions {
  readonly name: string;
  readonly uid: number;
  /** It gets `cotenant.io/class=` this. */
  readonly device: ClientClass;
  readonly command: readonly string[];
}

export interface Container {
  /** Resolves when its stderr has said this; rejects when it ended before. */
  said(text: string): Promise<void>;
  readonly ended: Promise<{ status: number | null; stdout: string; stderr: string }>;
}

interface Runtime {
  run(options: ContainerOptions): Container;
}

/** Starts a runtime with state of its own in `folder`, which ends with the test. */
export type StartRuntime = (folder: string, document: CdiDocument) => Promise<Runtime>;

/** A container that runs for as long as a command in the foreground. */
export function inForeground(program: string, args: readonly string[]): Container {
  const child: ChildProcess = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => (stdout += chunk));
  child.stderr?.on("data", (chunk) => (stderr += chunk));
  const ended: Container["ended"] = new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, stdout, stderr }));
  });
  return {
    ended,
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = () => stderr.includes(text) && resolve();
        child.stderr?.on("data", look);
        ended.then(() => reject(new Error(`ended without saying "${text}": ${stderr}`)), reject);
      }),
  };
}
