import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { dateNow, errors, itself, tryWrite } from "#core";
import { pathsIn, runningAgent } from "./directory/state.ts";
import { formatEntry, type LogFormat, parseEntry } from "./log/log.ts";
import { appendToLog } from "./log/log-file.ts";

/** An agent that fails ends at once. With busy CPUs, a start may need most of this time. */
export const STARTED_WITHIN_MS = 60_000;
const REPORTED_AFTER_MS = 10_000;
const STARTING = "starting";

export async function startInBackground(
  directory: string,
  command: readonly string[],
  format: LogFormat = "text",
): Promise<void> {
  const { log } = pathsIn(directory);
  const { command: node, args: program } = itself();
  const output = openLog(log, format);
  const child = spawn(node, [...program, ...command], {
    detached: true,
    stdio: ["ignore", output, output],
  });
  closeSync(output);
  await serving(child, directory, log);
  child.unref();
}

const ROOM_TO_START = 16 * 1024;

// The former agent's log may say why it ended, so it is kept. A full disk is found here: an agent
// could neither write its state nor report the failure there.
function openLog(path: string, format: LogFormat): number {
  return tryWrite(path, () => {
    appendToLog(path, formatEntry(format, { time: dateNow(), event: STARTING, facts: {} }));
    const room = `${path}.room`;
    try {
      writeFileSync(room, Buffer.alloc(ROOM_TO_START), { mode: 0o600 });
    } finally {
      rmSync(room, { force: true });
    }
    return openSync(path, "a");
  });
}

async function serving(child: ChildProcess, directory: string, log: string): Promise<void> {
  const since = performance.now();
  let isReported = false;
  while (runningAgent(directory)?.pid !== child.pid) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw errors.agentDidNotStart(lastWords(log) ?? `it ended by ${howEnded(child)}.`, log);
    const waitedMs = performance.now() - since;
    if (waitedMs > REPORTED_AFTER_MS && !isReported) {
      isReported = true;
      console.error(
        `cotenant: The agent is not ready after ${REPORTED_AFTER_MS / 1000} s. It is waited for, for ${STARTED_WITHIN_MS / 1000} s at most; free CPU time for it. Its log is ${log}.`,
      );
    }
    if (waitedMs > STARTED_WITHIN_MS) {
      child.kill();
      throw errors.agentDidNotStart(`it is not ready after ${STARTED_WITHIN_MS / 1000} s.`, log);
    }
    await pause(20);
  }
}

function lastWords(log: string): string | undefined {
  const all = readFileSync(log, "utf8").split("\n");
  const lines = all.slice(all.findLastIndex((line) => parseEntry(line)?.event === STARTING));
  return lines.map((line) => /^cotenant(?:-lab)?: (.*)/.exec(line)?.[1]).findLast(Boolean);
}

const howEnded = ({ exitCode, signalCode }: ChildProcess): string =>
  signalCode ?? `status ${exitCode}`;
