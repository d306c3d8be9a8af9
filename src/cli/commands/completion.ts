import { errors, usage } from "#core";
import { type Command, command } from "../command.ts";
import { completionScript, shells } from "../completion.ts";

/** `commands`: what is completed. */
export const completionCommand = (commands: () => Promise<readonly Command[]>): Command =>
  command({
    name: "completion",
    summary: "print what makes a shell complete the commands and options of cotenant",
    options: {},
    positional: {
      name: shells.join("|"),
      doc: 'bash: eval "$(cotenant completion bash)" in ~/.bashrc; zsh: the same with zsh in ~/.zshrc, after compinit; fish: cotenant completion fish > ~/.config/fish/completions/cotenant.fish',
      atLeast: 1,
    },
    examples: ["cotenant completion bash"],
    async run({ positional: [given = "", stray] }) {
      const shell = shells.find((one) => one === given);
      if (!shell) throw usage(`"${given}" is not one of ${shells.join(", ")}.`);
      if (stray !== undefined) throw errors.strayArgument("completion", stray);
      console.log(completionScript(shell, await commands()).trimEnd());
      return 0;
    },
  });
