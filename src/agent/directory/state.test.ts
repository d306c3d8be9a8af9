import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { exampleAgent as agent } from "../../../test/agent/example.ts";
import {
  type AgentFile,
  claimDirectory,
  fileIdentity,
  isAgentFileDamaged,
  isLocked,
  lockDirectory,
  pathsIn,
  readAgentFile,
  removeAgentFile,
  runningAgent,
  writeAgentFile,
} from "./state.ts";

const uid = process.getuid?.() ?? 0;

function temporary(): string {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-state-`);
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

const client = { class: "high", slot: 0, pid: 12, startTime: 345, name: "serve" } as const;
const gpu = {
  uuid: "GPU-1",
  name: "A GPU",
  smCount: 132,
  clients: [client, { ...client, pid: 13 }],
};

test("a run directory that is missing is made for its owner alone", () => {
  const directory = `${temporary()}/deep/down`;
  claimDirectory(directory, uid);
  expect(lstatSync(directory).mode & 0o777).toBe(0o700);
});

test.each([
  { made: "file", says: "is not a directory" },
  { made: "file/below", says: "can't be looked at: not a directory" },
])("a run directory that is $made, not a folder, is refused", ({ made, says }) => {
  const directory = temporary();
  writeFileSync(`${directory}/file`, "");
  expect(() => claimDirectory(`${directory}/${made}`, uid)).toThrow(says);
});

test("a file is told from another of the same name, and what can't be looked at is none", () => {
  const path = `${temporary()}/file`;
  writeFileSync(path, "");
  const first = fileIdentity(path);
  expect(first).toBe(fileIdentity(path));
  renameSync(path, `${path}.old`);
  writeFileSync(path, "");
  expect(fileIdentity(path)).not.toBe(first);
  expect(fileIdentity(`${path}/below`)).toBeUndefined();
});

test("a run directory that can't be made is refused at once", () => {
  expect(() => claimDirectory("/proc/cotenant/run", uid)).toThrow(
    "can't be made: no such file or directory",
  );
});

test("a run directory that others can enter is refused", () => {
  const directory = temporary();
  chmodSync(directory, 0o750);
  expect(() => claimDirectory(directory, uid)).toThrow("can be entered by others");
});

test("a run directory of another user is refused", () => {
  expect(() => claimDirectory(temporary(), uid + 1)).toThrow(`belongs to uid ${uid}`);
});

test("a link to a run directory is refused", () => {
  const directory = temporary();
  symlinkSync(directory, `${directory}/link`);
  expect(() => claimDirectory(`${directory}/link`, uid)).toThrow("is not a directory");
});

test("a lock that is held for a moment, as by those who ask about it, keeps no agent from starting", async () => {
  const directory = temporary();
  const { lock } = pathsIn(directory);
  writeFileSync(lock, "");
  const asking = spawn("flock", [lock, "sleep", "0.1"]);
  onTestFinished(() => void asking.kill());
  await expect.poll(() => isLocked(directory)).toBe(true);
  lockDirectory(directory)();
});

test("a run directory has one agent, until it unlocks", () => {
  const directory = temporary();
  const unlock = lockDirectory(directory);
  writeAgentFile(directory, agent);
  expect(() => lockDirectory(directory)).toThrow(
    `An agent is already running in ${directory} (pid ${process.pid}).`,
  );
  unlock();
  lockDirectory(directory)();
});

test.each<Partial<AgentFile>>([
  {},
  { mode: "mps", gpu: "nvidia", stopsKernels: true, port: 65_535 },
  { gpus: [gpu, { ...gpu, clients: [] }] },
])("the agent's notes come back whole, and only their owner may read them: %j", (more) => {
  const directory = temporary();
  writeAgentFile(directory, { ...agent, ...more });
  expect(readAgentFile(directory)).toEqual({ ...agent, ...more });
  expect(lstatSync(pathsIn(directory).file).mode & 0o777).toBe(0o600);
});

test("notes of an agent that has ended are no running agent, even when its pid is in use", () => {
  const directory = temporary();
  writeAgentFile(directory, agent);
  expect(runningAgent(directory)).toEqual(agent);
  writeAgentFile(directory, { ...agent, startTime: agent.startTime - 1 });
  expect(runningAgent(directory)).toBe(undefined);
});

test("torn notes are no notes", () => {
  const directory = temporary();
  writeFileSync(pathsIn(directory).file, '{"pid": 12');
  expect(readAgentFile(directory)).toBe(undefined);
});

test.each([
  "",
  '{"pid": 1',
  "null",
  "[]",
  '"x"',
  "{}",
  { pid: "1" },
  { pid: 0 },
  { pid: 1.5 },
  { startTime: undefined },
  { pidNamespace: undefined },
  { socket: 5 },
  { port: 0 },
  { port: "80" },
  { port: 65_536 },
  { token: 5 },
  { token: "" },
  { token: "a\nb" },
  { token: "a b" },
  { mode: "shared" },
  { policy: undefined },
  { gpu: "other" },
  { stopsKernels: 1 },
  { version: 1 },
  { gpus: 5 },
  { gpus: [null] },
  { gpus: [gpu, { ...gpu, uuid: 1 }] },
  { gpus: [{ ...gpu, smCount: "1" }] },
  { gpus: [{ ...gpu, name: undefined }] },
  { gpus: [{ ...gpu, clients: [{ ...client, class: "low" }] }] },
  { gpus: [{ ...gpu, clients: [{ ...client, slot: -1 }] }] },
  { gpus: [{ ...gpu, clients: [{ ...client, slot: 64 }] }] },
  { gpus: [{ ...gpu, clients: {} }] },
  { gpus: [{ ...gpu, clients: [client, {}] }] },
  { gpus: [{ ...gpu, clients: [null] }] },
])("an agent's file that is damaged names no agent: %j", (damage) => {
  const text = typeof damage === "string" ? damage : JSON.stringify({ ...agent, ...damage });
  const directory = temporary();
  expect(isAgentFileDamaged(directory)).toBe(false);
  writeFileSync(pathsIn(directory).file, text);
  expect(runningAgent(directory)).toBeUndefined();
  expect(isAgentFileDamaged(directory)).toBe(true);
  writeAgentFile(directory, agent);
  expect(isAgentFileDamaged(directory)).toBe(false);
});

test("notes that can't be put in their place leave nothing behind", () => {
  const directory = temporary();
  const { file } = pathsIn(directory);
  mkdirSync(file);
  expect(() => writeAgentFile(directory, agent)).toThrow();
  expect(existsSync(`${file}.new`)).toBe(false);
});

test("a run directory that nobody ever locked is free, and nothing is made by asking", () => {
  const directory = temporary();
  expect(isLocked(directory)).toBe(false);
  expect(existsSync(pathsIn(directory).lock)).toBe(false);
  expect(isAgentFileDamaged(directory)).toBe(false);
  lockDirectory(directory)();
  expect(isLocked(directory)).toBe(false);
});

test("whoever asks whether it is locked holds nothing afterwards", () => {
  const directory = temporary();
  lockDirectory(directory)();
  for (let i = 0; i < 3; i++) expect(isLocked(directory)).toBe(false);
  const unlock = lockDirectory(directory);
  expect(isLocked(directory)).toBe(true);
  unlock();
});

test("an agent's notes are gone once they are removed, and removing none is no error", () => {
  const directory = temporary();
  writeAgentFile(directory, agent);
  for (let i = 0; i < 2; i++) removeAgentFile(directory);
  expect(readAgentFile(directory)).toBeUndefined();
});
