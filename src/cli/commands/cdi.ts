import { cdiDocument, machineRunDirectory } from "#client";
import { checkWritable, errors, usage, writeGiven } from "#core";
import { choice, command, text } from "../program/command.ts";

const options = {
  output: text(
    "FILE",
    undefined,
    "write it there, with the ending .json, instead of printing it; runtimes read /etc/cdi",
  ),
  gpu: choice(
    ["auto", "soft"],
    "auto",
    "auto: GPUs come from NVIDIA's own specification; soft: containers also get the agent's software GPU",
  ),
};

export const cdiCommand = command({
  name: "cdi",
  summary: "make containers clients: print devices for Podman, containerd and Docker (CDI)",
  options,
  positional: {
    name: "generate",
    doc:
      "prints a specification of two devices, cotenant.io/class=high and cotenant.io/class=best-effort; a container with one " +
      "of them gets the library, the socket of the machine's agent (up --system) and the variables of a client. Its LD_PRELOAD replaces that of " +
      "the image: an image that preloads a library of its own must do so in another way (docs/guide/containers.md)",
    atLeast: 1,
  },
  examples: [
    "cotenant cdi generate --gpu soft",
    "cotenant cdi generate \\\n  --output /etc/cdi/cotenant.json",
  ],
  async run({ output, gpu, positional: [verb = "", stray] }) {
    if (verb !== "generate") throw usage(`"cdi" has no "${verb}".`, "Known: generate.");
    if (stray !== undefined) throw errors.strayArgument("cdi generate", stray);
    // Runtimes ignore other files in their folders, and say nothing.
    if (output !== undefined && !output.endsWith(".json"))
      throw usage(`--output ${output}: the name of a specification must end in .json.`);
    if (output !== undefined) checkWritable(output);
    const document = cdiDocument(machineRunDirectory(), gpu === "soft" ? "soft" : "nvidia");
    const content = JSON.stringify(document, null, 2);
    if (output === undefined) console.log(content);
    else writeGiven(output, `${content}\n`);
    return 0;
  },
});
