import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { errors, isReadable, SYSTEM_DIRECTORY } from "#core";
import { parseObjective } from "#policy";
import { capacity } from "../gpus/gpu.ts";
import type { GpuRecord } from "../gpus/registry.ts";
import { isAlive, pidNamespace, tryLock } from "../system/index.ts";

export type Mode = "isolated" | "mps";
export type GpuKind = "nvidia" | "soft";
export type Scope = "user" | "machine";

export interface Service {
  readonly version: string | undefined;
  readonly build?: string | undefined;
  readonly pid: number;
  readonly startTime: number;
  readonly pidNamespace: number;
  readonly scope: Scope;
  readonly socket: string;
  readonly port: number;
  readonly mode: Mode;
  readonly policy: string;
  readonly gpu: GpuKind;
  /** Long kernels stop inside (rule preemptUs): what compiles them may prepare it. */
  readonly stopsKernels: boolean;
  readonly gpuNames: readonly string[];
}

/** Only the owner reads this file, since it holds the token; service.json holds the rest. */
export interface AgentFile extends Service {
  readonly token: string;
  readonly gpus: readonly GpuRecord[];
}

export const pathsIn = (directory: string) => ({
  file: `${directory}/agent.json`,
  /** Containers get this folder mounted. It holds nothing else: their root could read it. */
  shared: `${directory}/shared`,
  sharedSocket: `${directory}/shared/agent.sock`,
  service: `${directory}/shared/service.json`,
  lock: `${directory}/agent.lock`,
  socket: `${directory}/agent.sock`,
  log: `${directory}/agent.log`,
  mpsPipes: `${directory}/mps`,
  mpsLogs: `${directory}/mps-log`,
  softGpu: `${directory}/softgpu`,
  builds: `${directory}/builds`,
  kernels: `${directory}/kernels`,
  launched: `${directory}/launched`,
  variants: `${directory}/variants`,
  metricsToken: `${directory}/metrics.token`,
  dashboard: `${directory}/dashboard.html`,
});

export function claimDirectory(directory: string, uid: number, scope: Scope = "user"): void {
  checkDirectory(directory, uid, scope);
  try {
    makeFolders(directory);
    if (scope === "machine") openToClients(directory);
  } catch (error) {
    throw errors.directoryNotMade(directory, errors.whyOf(error));
  }
  checkDirectory(directory, uid, scope);
}

function openToClients(directory: string): void {
  const { shared } = pathsIn(directory);
  makeFolders(shared);
  for (const folder of [directory, shared]) chmodSync(folder, 0o755);
}

function makeFolders(path: string): void {
  if (existsSync(path)) return;
  makeFolders(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!existsSync(path)) throw error; // else somebody was faster
  }
}

/** Nothing in a directory that somebody else could have filled is believed, or written to. */
export function checkDirectory(directory: string, uid: number, scope: Scope = "user"): void {
  const found = statusOf(directory);
  if (!found) return;
  if (!found.isDirectory()) throw errors.directoryNotOurs(directory, "is not a directory");
  if (found.uid !== uid)
    throw errors.directoryNotOurs(
      directory,
      `belongs to uid ${found.uid}`,
      "Run this command as that user",
    );
  if (scope === "machine" && (found.mode & 0o022) !== 0)
    throw errors.directoryNotOurs(
      directory,
      "can be written to by others",
      `Run "chmod go-w ${directory}"`,
    );
  if (scope === "user" && (found.mode & 0o077) !== 0)
    throw errors.directoryNotOurs(
      directory,
      "can be entered by others",
      `Run "chmod 700 ${directory}"`,
    );
}

export function isTrusted(directory: string, uid: number): boolean {
  const found = statusOf(directory);
  if (!found?.isDirectory() || (found.mode & 0o022) !== 0) return false;
  return found.uid === uid || found.uid === 0 || directory === SYSTEM_DIRECTORY;
}

function statusOf(directory: string) {
  try {
    return lstatSync(directory, { throwIfNoEntry: false });
  } catch (error) {
    throw errors.directoryNotOurs(
      directory,
      `can't be looked at: ${errors.whyOf(error)}`,
      "Check who may enter the folders above it",
    );
  }
}

const LOCK_TRIES = 50;
const LOCK_PAUSE_MS = 20;

/** The returned function unlocks; the kernel does too, however a process ends. */
export function lockDirectory(directory: string): () => void {
  const fd = openSync(pathsIn(directory).lock, "a", 0o600);
  // isLocked holds the lock for a moment.
  for (let tries = 0; tries < LOCK_TRIES; tries++) {
    if (tryLock(fd)) {
      const folder = openSync(directory, "r");
      tryLock(folder); // systemd-tmpfiles removes old files in /tmp, but none in a folder that is locked
      return () => [fd, folder].forEach(closeSync);
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_PAUSE_MS);
  }
  closeSync(fd);
  const running = readAgentFile(directory);
  throw running ? errors.agentRunning(running.pid, directory) : errors.agentNotReady(directory);
}

export function fileIdentity(path: string): string | undefined {
  try {
    const { dev, ino } = lstatSync(path);
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}

/** The agent may be one that this process can't see (in another container). */
export function isLocked(directory: string): boolean {
  try {
    const fd = openSync(pathsIn(directory).lock, "r");
    const free = tryLock(fd);
    closeSync(fd);
    return !free;
  } catch {
    return false; // nobody has ever locked it
  }
}

export function writeAgentFile(directory: string, agent: AgentFile): void {
  const { file, service } = pathsIn(directory);
  const { token: _token, gpus: _gpus, ...forClients } = agent;
  writeWhole(file, agent, 0o600);
  if (agent.scope === "machine") writeWhole(service, forClients, 0o644);
}

function writeWhole(path: string, content: Service, mode: number): void {
  try {
    writeFileSync(`${path}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode });
    chmodSync(`${path}.new`, mode);
    renameSync(`${path}.new`, path);
  } catch (error) {
    rmSync(`${path}.new`, { force: true });
    throw error;
  }
}

/** A file that is not whole counts as none: a missing field would be taken for something else. */
export function readAgentFile(directory: string): AgentFile | undefined {
  const found = parsedIn(pathsIn(directory).file);
  return isAgentFile(found) ? found : undefined;
}

function readService(directory: string): Service | undefined {
  const found = parsedIn(pathsIn(directory).service);
  return readAgentFile(directory) ?? (isService(found) ? found : undefined);
}

function parsedIn(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

function isService(found: unknown): found is Service {
  if (!isObject(found)) return false;
  const { port, mode, gpu, scope } = found;
  return (
    isProcess(found) &&
    (found.version === undefined || typeof found.version === "string") &&
    (found.build === undefined || typeof found.build === "string") &&
    typeof found.pidNamespace === "number" &&
    (scope === "user" || scope === "machine") &&
    typeof found.socket === "string" &&
    typeof port === "number" &&
    port > 0 &&
    port < 65_536 &&
    (mode === "isolated" || mode === "mps") &&
    typeof found.policy === "string" &&
    (gpu === "soft" || gpu === "nvidia") &&
    typeof found.stopsKernels === "boolean" &&
    Array.isArray(found.gpuNames) &&
    found.gpuNames.every((name: unknown) => typeof name === "string")
  );
}

function isAgentFile(found: unknown): found is AgentFile {
  if (!isService(found) || !isObject(found)) return false;
  const { token, gpus } = found;
  return (
    typeof token === "string" &&
    /^[\w.-]+$/.test(token) &&
    Array.isArray(gpus) &&
    gpus.every(isGpuRecord)
  );
}

const isGpuRecord = (found: unknown): boolean =>
  isObject(found) &&
  typeof found.uuid === "string" &&
  typeof found.name === "string" &&
  Number.isSafeInteger(found.smCount) &&
  Array.isArray(found.clients) &&
  found.clients.every(isClientRecord);

const isClientRecord = (found: unknown): boolean =>
  isObject(found) &&
  isProcess(found) &&
  typeof found.name === "string" &&
  (found.class === "high" || found.class === "best-effort") &&
  Number.isSafeInteger(found.slot) &&
  Number(found.slot) >= 0 &&
  Number(found.slot) < capacity[found.class] &&
  (found.statedSlo === undefined || isObjective(found.statedSlo));

function isObjective(found: unknown): boolean {
  if (!Array.isArray(found) || !found.every((text) => typeof text === "string")) return false;
  try {
    parseObjective(found);
    return true;
  } catch {
    return false;
  }
}

const isProcess = ({ pid, startTime }: Readonly<Record<string, unknown>>): boolean =>
  Number.isSafeInteger(pid) && Number(pid) > 0 && typeof startTime === "number";

const isObject = (found: unknown): found is Readonly<Record<string, unknown>> =>
  typeof found === "object" && found !== null;

export const isAgentFileDamaged = (directory: string): boolean =>
  existsSync(pathsIn(directory).file) && readAgentFile(directory) === undefined;

export function removeAgentFile(directory: string): void {
  const { file, service } = pathsIn(directory);
  for (const path of [file, service]) rmSync(path, { force: true });
}

/** In another PID namespace an agent shows by its lock, or without one by its socket. */
export const isRunning = (directory: string, agent: Service): boolean =>
  agent.pidNamespace === pidNamespace()
    ? isAlive(agent.pid, agent.startTime)
    : isLocked(directory) || (!isReadable(pathsIn(directory).lock) && existsSync(agent.socket));

export function runningAgent(directory: string): AgentFile | undefined {
  const agent = readAgentFile(directory);
  return agent && isRunning(directory, agent) ? agent : undefined;
}

export function runningService(directory: string): Service | undefined {
  const service = readService(directory);
  return service && isRunning(directory, service) ? service : undefined;
}
