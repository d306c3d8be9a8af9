import { errors, usage } from "#core";
import { type Command, command } from "../program/command.ts";
import { completionScript, shells } from "../program/completion.ts";

export const completionCommand = (
  program: string,
  commands: () => Promise<readonly Command[]>,
): Command =>
  command({
    name: "completion",
    summary: `print what makes a shell complete the commands and options of ${program}`,
    options: {},
    positional: {
      name: shells.join("|"),
      doc: `bash: eval "$(${program} completion bash)" in ~/.bashrc; zsh: the same with zsh in ~/.zshrc, after compinit; fish: ${program} completion fish > ~/.config/fish/completions/${program}.fish`,
      atLeast: 1,
    },
    examples: [`${program} completion bash`],
    async run({ positional: [given = "", stray] }) {
      const shell = shells.find((one) => one === given);
      if (!shell) throw usage(`"${given}" is not one of ${shells.join(", ")}.`);
      if (stray !== undefined) throw errors.strayArgument("completion", stray);
      console.log(completionScript(shell, program, await commands()).trimEnd());
      return 0;
    },
  });
