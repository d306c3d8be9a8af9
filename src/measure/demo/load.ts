import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errors, itself } from "#core";
import { parseMarks, type Served } from "#load";
import type { ClientClass } from "#protocol";

/** Calibrating takes long when other jobs run. */
const SERVING_WITHIN_MS = 60_000;
const STOPPED_WITHIN_MS = 20_000;
const SECONDS = "3600"; // a signal ends it before

export interface Load {
  /** Rejects if it ended before it serves. */
  readonly serving: Promise<void>;
  /** Ends it in order, and returns the requests that it served. */
  stop(): Promise<readonly Served[]>;
  kill(): void;
}

export function startLoad(kind: ClientClass, shape: readonly string[], directory: string): Load {
  const { command, args } = itself();
  const marks = join(directory, `${kind}.marks`);
  const load = ["load", ...shape, "--seconds", SECONDS, "--marks", marks, "--json"];
  // `run` becomes the load, so signals to the child reach it.
  const child = spawn(
    command,
    [...args, "run", "--class", kind, "--name", kind, "--", command, ...args, ...load],
    { env: { ...process.env, COTENANT_DIR: directory }, stdio: ["ignore", "ignore", "pipe"] },
  );
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  const ended = new Promise<number>((resolve) => {
    child.on("close", (status) => resolve(status ?? -1));
    child.on("error", () => resolve(-1));
  });
  const failure = () =>
    errors.loadFailed(kind, said.trim().split("\n").at(-1) ?? "it said nothing");
  return {
    serving: untilServing(child, () => said, failure, ended),
    async stop() {
      child.kill("SIGTERM");
      const impatience = setTimeout(() => child.kill("SIGKILL"), STOPPED_WITHIN_MS);
      const status = await ended;
      clearTimeout(impatience);
      if (status !== 0) throw failure();
      return parseMarks(readFileSync(marks, "utf8"));
    },
    kill: () => void child.kill("SIGKILL"),
  };
}

function untilServing(
  child: ChildProcess,
  said: () => string,
  failure: () => Error,
  ended: Promise<number>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(failure());
    const impatience = setTimeout(fail, SERVING_WITHIN_MS);
    void ended.then(() => {
      clearTimeout(impatience);
      fail();
    });
    child.stderr?.on("data", () => {
      if (!said().includes("load: serving")) return;
      clearTimeout(impatience);
      resolve();
    });
  });
}

export const marksBetween = (requests: readonly Served[], from: number, to: number) =>
  requests.filter(({ done }) => done >= from && done < to);
