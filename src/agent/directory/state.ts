// Files that an agent leaves in its run directory for the commands and for its successor.
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

/** An agent of the user whose folder it is in, or of the machine: for clients of all users. */
export type Scope = "user" | "machine";

/** The facts by which a client finds the agent. */
export interface Service {
  /** Version of the package; undefined: the agent is older than this field. */
  readonly version: string | undefined;
  /** The folder of the package's copy that it runs from, and whose library clients get; undefined: it has none. */
  readonly build?: string | undefined;
  readonly pid: number;
  readonly startTime: number;
  /** Inode of the PID namespace that it runs in. */
  readonly pidNamespace: number;
  readonly scope: Scope;
  readonly socket: string;
  readonly port: number;
  readonly mode: Mode;
  readonly policy: string;
  readonly gpu: GpuKind;
  /** Long kernels of best-effort clients are to stop inside (rule preemptUs): what compiles them may prepare it. */
  readonly stopsKernels: boolean;
  /** As the driver says them. */
  readonly gpuNames: readonly string[];
}

/** agent.json: for the owner only, since it holds the token. Of an agent of the machine, service.json holds the rest for all. */
export interface AgentFile extends Service {
  readonly token: string;
  readonly gpus: readonly GpuRecord[];
}

/** Every path under the run directory, so that nobody else spells one. */
export const pathsIn = (directory: string) => ({
  file: `${directory}/agent.json`,
  /**
   * Folder that containers get mounted, with an agent of the machine. It holds nothing else, because their root could
   * read it.
   */
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
  /** Leads a browser to the dashboard with the token. */
  dashboard: `${directory}/dashboard.html`,
});

/** Makes the run directory, or makes sure that the one that is there is nobody else's. */
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

/** Not Node's `recursive`, which never ends where a file system refuses, as /proc does. */
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

/** Whether what stands there comes from root or this user: of SYSTEM_DIRECTORY root has decided whose it is. */
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

/**
 * One agent per run directory. The returned function unlocks; the kernel does too, however a process
 * ends.
 */
export function lockDirectory(directory: string): () => void {
  const fd = openSync(pathsIn(directory).lock, "a", 0o600);
  // A process that asks whether it is locked (isLocked) holds the lock for a moment.
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

/** Which file stands there: another text is another file. undefined: none, or none that this process may look at. */
export function fileIdentity(path: string): string | undefined {
  try {
    const { dev, ino } = lstatSync(path);
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}

/** Some process holds the lock: an agent, if only one that this process can't see (in another container). */
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

/** undefined when there is none, or none that is whole: what is missing in it would be taken for something else. */
export function readAgentFile(directory: string): AgentFile | undefined {
  const found = parsedIn(pathsIn(directory).file);
  return isAgentFile(found) ? found : undefined;
}

/** The same for clients, of whatever user. */
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

/** There is an agent file, but none that is whole. */
export const isAgentFileDamaged = (directory: string): boolean =>
  existsSync(pathsIn(directory).file) && readAgentFile(directory) === undefined;

export function removeAgentFile(directory: string): void {
  const { file, service } = pathsIn(directory);
  for (const path of [file, service]) rmSync(path, { force: true });
}

/**
 * Its process runs, whatever it has still to tidy up. In another PID namespace it shows by its lock; where the lock is not to
 * be had, as in a container, its socket must do.
 */
export const isRunning = (directory: string, agent: Service): boolean =>
  agent.pidNamespace === pidNamespace()
    ? isAlive(agent.pid, agent.startTime)
    : isLocked(directory) || (!isReadable(pathsIn(directory).lock) && existsSync(agent.socket));

/** The agent that runs now; undefined when none does, whatever file an earlier one left. */
export function runningAgent(directory: string): AgentFile | undefined {
  const agent = readAgentFile(directory);
  return agent && isRunning(directory, agent) ? agent : undefined;
}

/** The same for clients, of whatever user. */
export function runningService(directory: string): Service | undefined {
  const service = readService(directory);
  return service && isRunning(directory, service) ? service : undefined;
}
