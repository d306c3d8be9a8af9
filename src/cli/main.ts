#!/usr/bin/env node
// The `cotenant` command. Exit status 0 done, 1 failed, 2 wrong use; a failure is one line on stderr, whether anybody
// foresaw it or not, and COTENANT_DEBUG=1 adds where it was.
import { errors, UserError } from "#core";
import { dispatch } from "./dispatch.ts";

process.on("uncaughtException", (fault) => {
  say(fault);
  // What was going on cannot be known any more.
  process.exit(1);
});

try {
  process.exitCode = await dispatch(process.argv.slice(2));
  checkPrinted(process.stdout);
} catch (fault) {
  process.exitCode = say(fault);
}

/** The exit status that belongs to it. */
function say(fault: unknown): 1 | 2 {
  const { message, hint, exitStatus } = errors.anyFault(fault);
  console.error(`cotenant: ${[message, hint].filter(Boolean).join(" ")}`);
  const expected = fault instanceof UserError;
  if (!expected && process.env.COTENANT_DEBUG === "1" && fault instanceof Error)
    console.error(fault.stack);
  return exitStatus;
}

/**
 * Throws a UserError when what was printed got lost: Node's console does not say so. That a reader has seen
 * enough (`| head`) is none.
 */
function checkPrinted({ errored }: Pick<NodeJS.WriteStream, "errored">): void {
  const fault: NodeJS.ErrnoException | null = errored;
  if (fault && fault.code !== "EPIPE") throw errors.cannotPrint(fault.message);
}
