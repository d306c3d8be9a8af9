// The doctor starts this program (src/doctor/checks/library.ts).
import { makeContext } from "#load";
import { command } from "../program/command.ts";

export const makeContextCommand = command({
  name: "make-context",
  summary: "make a CUDA context for the doctor that starts it",
  options: {},
  async run() {
    makeContext();
    return 0;
  },
});
