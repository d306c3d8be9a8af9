// Exit status 0 is done, 1 failed, 2 wrong use, 75 not now. Any failure is one line on stderr.
import { errors, UserError } from "#core";
import { dispatch } from "./dispatch.ts";
import type { Program } from "./program.ts";

export async function start(program: Program): Promise<void> {
  process.on("uncaughtException", (error: NodeJS.ErrnoException) => {
    // The reader of a pipe has closed it (`| head`).
    if (error.code === "EPIPE" && error.syscall === "write") process.exit();
    say(program, error);
    // After an uncaught exception the state of the program is unknown.
    process.exit(1);
  });
  try {
    process.exitCode = await dispatch(program, process.argv.slice(2));
    checkPrinted(process.stdout);
  } catch (error) {
    process.exitCode = say(program, error);
  }
}

function say({ name }: Program, error: unknown): UserError["exitStatus"] {
  const known = errors.asUserError(error);
  console.error(lineOf(name, known));
  const expected = error instanceof UserError;
  if (!expected && process.env.COTENANT_DEBUG === "1" && error instanceof Error)
    console.error(error.stack);
  return known.exitStatus;
}

export const lineOf = (program: string, { message, hint }: UserError): string =>
  `${program}: ${[message, hint].filter(Boolean).join(" ")}`;

/** Node's console reports no lost text. A reader that closes the pipe (`| head`) is no error. */
function checkPrinted({ errored }: Pick<NodeJS.WriteStream, "errored">): void {
  const error: NodeJS.ErrnoException | null = errored;
  if (error && error.code !== "EPIPE") throw errors.cannotPrint(error.message);
}
