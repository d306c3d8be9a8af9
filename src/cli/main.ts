#!/usr/bin/env node
// The `cotenant` command. Exit status 0 done, 1 failed, 2 wrong use; a known failure is one line on
// stderr, a bug is a stack trace.
import { UserError } from "#core";
import { dispatch } from "./dispatch.ts";
import { checkPrinted } from "./print.ts";

try {
  process.exitCode = await dispatch(process.argv.slice(2));
  checkPrinted(process.stdout);
} catch (fault) {
  if (!(fault instanceof UserError)) throw fault;
  console.error(`cotenant: ${[fault.message, fault.hint].filter(Boolean).join(" ")}`);
  process.exitCode = fault.exitStatus;
}
