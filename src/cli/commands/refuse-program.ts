// The launcher starts this where the program of a "cotenant run" could not be executed.
import { getSystemErrorName } from "node:util";
import { findProgram } from "#client";
import { errors } from "#core";
import { command } from "../program/command.ts";

export const refuseProgramCommand = command({
  name: "refuse-program",
  summary: "say why a program was not executed, for the launcher that tried",
  options: {},
  positional: { name: "ERRNO PROGRAM", doc: "the error, and the program", atLeast: 2 },
  async run({ positional: [errno = "", program = ""] }) {
    findProgram(program, process.env); // says more, such as that it is a folder
    throw errors.cannotExecute(program, getSystemErrorName(-Number(errno)));
  },
});
