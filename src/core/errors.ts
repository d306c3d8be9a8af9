// Users see a stable code, a sentence and a cure; bugs are plain errors. A folder with many
// messages of its own has its own errors.ts.
import { getSystemErrorMap } from "node:util";
import { gibibytes } from "./terminal/print.ts";

/** 1: failed. 2: wrong use. 75: not now, try again later (EX_TEMPFAIL of sysexits.h). */
export type ExitStatus = 1 | 2 | 75;

export class UserError extends Error {
  readonly code: string;
  readonly hint: string;
  readonly exitStatus: ExitStatus;

  constructor(code: string, message: string, hint = "", exitStatus: ExitStatus = 1) {
    super(message);
    this.name = "UserError";
    this.code = code;
    this.hint = hint;
    this.exitStatus = exitStatus;
  }
}

/** "permission denied", without the name of the system call. */
export function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { errno } = error as NodeJS.ErrnoException;
  const [, why] = getSystemErrorMap().get(errno ?? 0) ?? [];
  return why ?? error.message;
}

const cures: Readonly<Record<string, string>> = {
  EMFILE: "Allow more open files, such as with ulimit -n 1024.",
  ENFILE: "The machine has too many open files.",
  ENOSPC: "Make room on that disk.",
  EAGAIN: "Allow more processes, such as with ulimit -u.",
  EACCES: "Check who may read and write there.",
  EROFS: "Name a place that can be written to.",
};

const cureOf = (error: unknown): string =>
  cures[(error as Partial<NodeJS.ErrnoException> | undefined)?.code ?? ""] ?? "";

export function asUserError(error: unknown): UserError {
  if (error instanceof UserError) return error;
  const { syscall, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (syscall !== undefined)
    return new UserError(
      "SYSTEM",
      `${path === undefined ? `The system call ${syscall}` : `${syscall.split(" ")[0]} of ${path}`} failed: ${whyOf(error)}.`,
      cureOf(error),
    );
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new UserError(
    "BUG",
    `This is an error in Cotenant itself (${what.replace(/\s+/g, " ").slice(0, LONGEST_BUG)}).`,
    "COTENANT_DEBUG=1 shows where.",
  );
}

const LONGEST_BUG = 300;
export const usage = (message: string, hint = "") => new UserError("USAGE", message, hint, 2);

export const badQuantity = (text: string, wanted: string) => usage(`"${text}" is not ${wanted}.`);

export const directoryNotOurs = (path: string, why: string, cure = "Remove it") =>
  new UserError(
    "DIRECTORY_NOT_OURS",
    `The directory ${path} ${why}.`,
    `${cure}, or set COTENANT_DIR to a directory that only you can enter.`,
  );

export const directoryNotMade = (path: string, why: string) =>
  new UserError(
    "DIRECTORY_NOT_MADE",
    `The directory ${path} can't be made: ${why}.`,
    "Set COTENANT_DIR to one that can.",
  );

/** `meant`: the known word that the given one resembles. */
export const unknownCommand = (name: string, known: readonly string[], meant: string | undefined) =>
  usage(
    `There is no command "${name}".`,
    meant ? `Did you mean "${meant}"?` : `Known: ${known.join(", ")}.`,
  );

export const commandElsewhere = (name: string, program: string) =>
  usage(`"${name}" is a command of ${program}: ${program} ${name}`);

export const unknownOption = (name: string, command: string, meant: string | undefined) =>
  usage(
    `"${command}" has no option ${name}.`,
    `${meant ? `Did you mean ${meant}? ` : ""}"cotenant ${command} --help" lists them.`,
  );

export const optionNeedsValue = (name: string, placeholder: string) =>
  usage(`${name} needs a value: ${name} ${placeholder}.`);

export const optionTakesNoValue = (name: string) => usage(`${name} takes no value.`);

export const badOption = (name: string, cause: UserError) =>
  new UserError(cause.code, `${name}: ${cause.message}`, cause.hint, cause.exitStatus);

export const missingArgument = (command: string, wanted: string) =>
  usage(`"${command}" needs ${wanted}.`, `"cotenant ${command} --help" shows its use.`);

export const strayArgument = (command: string, text: string) =>
  usage(`"${command}" does not know what to do with "${text}".`);

export const unknownPolicy = (name: string, known: readonly string[]) =>
  usage(`No policy is called "${name}".`, `Known: ${known.join(", ")}.`);

export const unknownRule = (name: string, known: readonly string[]) =>
  usage(`No rule is called "${name}".`, `Known: ${known.join(", ")}.`);

export const formerName = (old: string, now: string) =>
  `${old} is called ${now} now. The former name works in this version only.`;

export const badRule = (text: string, wanted: string) => usage(`--set ${text}: not ${wanted}.`);

export const unknownReading = (name: string, known: readonly string[]) =>
  usage(`No reading of a GPU's health is called "${name}".`, `Known: ${known.join(", ")}.`);

export const badHealth = (text: string, wanted: string) =>
  usage(`--health ${text}: not ${wanted}.`);

export const badHostLimit = (text: string) =>
  usage(
    `--host-guard ${text}: not one of cpus=LIST, such as cpus=2-7, weight=1 to 10000, or memory=BYTES.`,
  );

export const reserveTooLarge = (reserve: number, gpu: string, memory: number) =>
  new UserError(
    "RESERVE",
    `--reserve of ${gibibytes(reserve)} would leave nothing of ${gpu}, which has ${gibibytes(memory)}.`,
    "Best-effort jobs that were started with --movable would be parked for ever. Give less.",
  );

export const noSuchCpus = (wanted: string, online: string) =>
  usage(`--host-guard cpus=${wanted}: not all of them are there.`, `This machine has ${online}.`);

export const noHostGuard = (root: string, why: string) =>
  new UserError(
    "HOST_GUARD",
    `The agent can't make a cgroup for best-effort jobs in ${root}: ${why}.`,
    "Run it as root outside of containers, or leave --host-guard out.",
  );

/** `elsewhere`: sentences about other agents. `ended`: pid of an agent that ended unasked. */
export const noAgent = (directory: string, elsewhere: readonly string[], ended?: number) =>
  new UserError(
    "NO_AGENT",
    ended === undefined
      ? `No agent is running in ${directory}.`
      : `No agent is running in ${directory}: agent ${ended} has ended without having been stopped. "cotenant logs" shows its last lines.`,
    ['Start one: "cotenant up".', ...elsewhere].join(" "),
  );

export const noSuchClient = (called: string) =>
  new UserError(
    "NO_CLIENT",
    `There is no best-effort client "${called}".`,
    "cotenant status lists them; a pid names one of several that have the same name.",
  );

export const noHighClient = (called: string) =>
  new UserError(
    "NO_CLIENT",
    `There is no high client "${called}".`,
    "cotenant status lists them; a pid names one of several that have the same name.",
  );

export const highClientStays = (name: string, pid: number) =>
  new UserError(
    "HIGH_CLIENT",
    `${name} (pid ${pid}) is a high client, which no command takes off the GPU.`,
    'Started with "cotenant run --class high --park-after TIME" it leaves the GPU\'s memory while it is idle.',
  );

export const notMoved = (what: string, why: string, cure?: string) =>
  new UserError("NOT_MOVED", `${what}: ${why}.`, cure);

export const checkpointFailed = (client: string, why: string) =>
  new UserError(
    "CHECKPOINT_FAILED",
    `${client} goes on, because its checkpoint command ${why}.`,
    "With --end instead of --checkpoint it is ended without saving its state.",
  );

export const severalRanks = (variable: string, why: string) =>
  new UserError(
    "SEVERAL_RANKS",
    `${variable} says that this is one rank of several: ${why}, so they are no gang whose collectives are committed. Held back each by itself, ranks would wait for each other.`,
    "Run it with --ungated, as if Cotenant were not there; or unset the variable, if its processes do not wait for each other.",
  );

export const gpuTakesNone = (name: string, reason: string, waitedS: number) =>
  new UserError(
    "GPU_TAKES_NONE",
    `"${name}" was not started${waitedS > 0 ? ` within ${waitedS} s` : ""}: ${reason}`,
    "A longer --wait-at-most lets it wait.",
    75,
  );

export const mpsOfOneUser = () =>
  usage(
    "--system goes with mode isolated only: an MPS daemon serves one user, and one client's fault ends all.",
    'A user whose jobs trust each other can start an agent of their own: "cotenant up --mode mps".',
  );

export const noLog = (path: string) =>
  new UserError("NO_LOG", `There is no log ${path}.`, "No agent has been started there yet.");

export const agentOfOthers = (pid: number, directory: string) =>
  new UserError(
    "AGENT_OF_OTHERS",
    `The agent in ${directory} (pid ${pid}) belongs to another user, who alone may ask or stop it.`,
    'Ask as that user, such as with "sudo cotenant status".',
  );

export const agentNotReady = (directory: string) =>
  new UserError(
    "AGENT_NOT_READY",
    `An agent holds ${directory}, but takes no clients: it is just starting or ending.`,
    "Try again in a moment.",
  );

export const agentFileDamaged = (path: string) =>
  new UserError(
    "AGENT_FILE_DAMAGED",
    `An agent runs, but its file ${path} is damaged: nobody can find the agent by it.`,
    "The agent makes it anew within a second. Where that takes longer, end the agent's process and start another: its clients go on.",
  );

export const agentRunning = (pid: number, directory: string) =>
  new UserError(
    "AGENT_RUNNING",
    `An agent is already running in ${directory} (pid ${pid}).`,
    'Stop it first: "cotenant down".',
  );

export const agentDidNotStart = (why: string, log: string) =>
  new UserError("AGENT_DID_NOT_START", `The agent did not start: ${why}`, `Its log is ${log}.`);

export const agentSilent = (pid: number, why: string) =>
  new UserError(
    "AGENT_SILENT",
    `The agent (pid ${pid}) does not answer: ${why}.`,
    `Where it hangs, "kill -9 ${pid}": its clients go on, and the next agent takes them over.`,
  );

export const tooManyWatch = (pid: number) =>
  new UserError(
    "TOO_MANY_WATCH",
    `Too many dashboards and "cotenant top" read from the agent (pid ${pid}).`,
    "Close one of them.",
  );

export const noGpu = (why: string) =>
  new UserError(
    "NO_GPU",
    `There is no NVIDIA GPU to serve here: ${why}.`,
    "The software GPU takes its place with --gpu soft.",
  );

export const cannotWrite = (path: string, error: unknown) =>
  new UserError("CANNOT_WRITE", `${path} can't be written: ${whyOf(error)}.`, cureOf(error));

export const cannotRead = (path: string, error: unknown) =>
  new UserError("CANNOT_READ", `${path} can't be read: ${whyOf(error)}.`);

export const inputNotRead = (what: string, path: string, error: unknown) =>
  usage(`The ${what} ${path} can't be read: ${whyOf(error)}.`);

export const cannotPrint = (why: string) =>
  new UserError("CANNOT_PRINT", `What was printed could not be written: ${why}.`);

export const cannotPreload = (path: string) =>
  new UserError(
    "CANNOT_PRELOAD",
    `${path} can't be preloaded: LD_PRELOAD ends a path at a blank or a colon.`,
    "Install Cotenant elsewhere, or set COTENANT_LIB to a link that has neither in its path.",
  );

export const notBuilt = (path: string) =>
  new UserError("NOT_BUILT", `${path} is not there.`, 'Build it: "npm run native".');

export const packageMissing = (root: string, name: string) =>
  new UserError(
    "PACKAGE_MISSING",
    `${root} lacks the package "${name}".`,
    'Run "npm install" there.',
  );

const whyNotExecuted: Readonly<Record<string, string>> = {
  ENOENT: "there is no such command",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of its path is no folder",
  EACCES: "it may not be executed",
  ENOEXEC: "it is not a program",
  E2BIG: "its arguments and environment are too long",
};

export const cannotExecute = (command: string, code: string) =>
  new UserError("CANNOT_EXECUTE", `Cannot run "${command}": ${whyNotExecuted[code] ?? code}.`);

export const mpsFailed = (why: string) =>
  new UserError("MPS_FAILED", `NVIDIA MPS could not be started: ${why}.`);

export const cannotListen = (address: string, error: unknown) =>
  new UserError(
    "CANNOT_LISTEN",
    `Metrics can't be served at ${address}: ${whyOf(error)}.`,
    "Give --metrics-address an address of this machine and a free port.",
  );

export const metricsTokenNotBelieved = (path: string, why: string) =>
  new UserError(
    "METRICS_TOKEN",
    `The metrics token in ${path} is not used: ${why}.`,
    "Remove the file, and the agent makes one with mode 600.",
  );

export const portTaken = (port: number) =>
  new UserError("PORT_TAKEN", `Port ${port} is taken.`, "Leave --port out for any free one.");

export const pathTooLong = (path: string) =>
  new UserError(
    "PATH_TOO_LONG",
    `The socket path ${path} is longer than the 107 bytes a Unix socket may have.`,
    "Set COTENANT_DIR to a shorter directory.",
  );

export const noSuchProfile = (name: string, folder: string, known: readonly string[]) =>
  new UserError(
    "NO_PROFILE",
    `There is no profile file ${name}, and no profile of that name in ${folder}.`,
    known.length > 0 ? `Known: ${known.join(", ")}.` : 'Make one: "cotenant profile -- COMMAND".',
  );

export const profileOfAnotherGpu = (why: string) =>
  new UserError(
    "OTHER_GPU",
    `${why} Durations and SM needs of another GPU would be wrong here.`,
    'Measure it here: "cotenant profile -- COMMAND".',
  );

export const loadFailed = (name: string, why: string) =>
  new UserError("LOAD_FAILED", `The ${name} load failed: ${why}`);
