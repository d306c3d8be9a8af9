// Node has no exec, so libc's is called; without libc.so.6 (musl), the program is a child.
// process.stdin, stdout and stderr must not be used before: Node makes their pipes non-blocking.
import { spawn } from "node:child_process";
import { readlinkSync } from "node:fs";
import { constants } from "node:os";
import { getSystemErrorName } from "node:util";
import koffi from "koffi";
import { errors } from "#core";
import { type Inherited, ignoredByNode } from "./inherited.ts";
import { findProgram } from "./program.ts";

const F_SETFD = 2;
const SIG_DFL = 0;
const SIG_IGN = 1;

export function ignoreInherited({ ignored }: Pick<Inherited, "ignored">): void {
  const libc = ignored.length > 0 ? loadLibc() : undefined;
  for (const signal of ignored) libc?.signal(signal, SIG_IGN);
}

/** Returns only the exit status of a child; otherwise throws a UserError. */
export async function become(
  program: string,
  args: readonly string[],
  given: NodeJS.ProcessEnv,
  inherited: Omit<Inherited, "launcher"> = { ignored: [], variables: {} },
): Promise<number> {
  const libc = loadLibc();
  const env = { ...inherited.variables, ...given };
  if (!libc) return await beside(program, args, env);
  for (const signal of ignoredByNode) libc.signal(signal, SIG_DFL);
  ignoreInherited(inherited);
  // Node sets close-on-exec on every descriptor that it inherits.
  for (const fd of [0, 1, 2, ...inheritedAbove2()]) libc.fcntl(fd, F_SETFD, "int", 0);
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  libc.execvpe(program, [program, ...args, null], [...settings, null]);
  const why = getSystemErrorName(-koffi.errno());
  findProgram(program, env); // says more, such as that it is a folder
  throw errors.cannotExecute(program, why);
}

// A service manager passes sockets from 3 on. Node opens an epoll instance before any other file
// that stays open, at the lowest free number: what is below was inherited. A descriptor behind a
// gap, up to number 15, can't be told from Node's own and is lost.
function inheritedAbove2(): readonly number[] {
  const found: number[] = [];
  for (let fd = 3; ; fd++)
    try {
      if (readlinkSync(`/proc/self/fd/${fd}`) === "anon_inode:[eventpoll]") return found;
      found.push(fd);
    } catch {
      return found;
    }
}

function loadLibc() {
  try {
    const libc = koffi.load("libc.so.6");
    return {
      fcntl: libc.func("int fcntl(int fd, int command, ...)"),
      signal: libc.func("intptr_t signal(int number, intptr_t handler)"),
      execvpe: libc.func("int execvpe(const char *file, const char **argv, const char **envp)"),
    };
  } catch {
    return undefined;
  }
}

function beside(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: "inherit" });
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const)
      process.on(signal, () => child.kill(signal));
    child.on("error", (error: NodeJS.ErrnoException) =>
      reject(errors.cannotExecute(program, error.code ?? error.message)),
    );
    child.on("exit", (status, signal) =>
      resolve(status ?? 128 + (signal ? constants.signals[signal] : 0)),
    );
  });
}
