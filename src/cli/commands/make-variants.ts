// The agent starts this process (src/agent/variants/process.ts).
import { serveVariants } from "#agent";
import { usage } from "#core";
import { command } from "../program/command.ts";

export const makeVariantsCommand = command({
  name: "make-variants",
  summary: "make variants of kernels for the agent that starts it",
  options: {},
  positional: { name: "DIR", doc: "where variants are kept", atLeast: 1 },
  async run({ positional: [directory = ""] }) {
    if (!process.send) throw usage('"make-variants" is for the agent alone, which starts it.');
    await serveVariants(directory);
    return 0;
  },
});
