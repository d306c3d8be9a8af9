// The agent's own: the process that makes forms (src/agent/forms/process.ts).
import { serveForms } from "#agent";
import { usage } from "#core";
import { command } from "../command.ts";

export const makeFormsCommand = command({
  name: "make-forms",
  summary: "make forms of kernels for the agent that starts it",
  options: {},
  internal: true,
  positional: { name: "DIR", doc: "where forms are kept", atLeast: 1 },
  async run({ positional: [directory = ""] }) {
    if (!process.send) throw usage('"make-forms" is for the agent alone, which starts it.');
    await serveForms(directory);
    return 0;
  },
});
