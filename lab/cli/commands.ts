// The table of commands of `cotenant-lab`. To add one: a file in commands/, a line here, and its name in src/cli/names/names.ts.
import { type CommandTable, commandNames, commandsOf, completionCommand, type Program } from "#cli";

const forPeople: CommandTable = {
  up: async () => (await import("./commands/up.ts")).upCommand,
  bench: async () => (await import("./commands/bench.ts")).benchCommand,
  model: async () => (await import("./commands/model.ts")).modelCommand,
  "model-llm": async () => (await import("./commands/model-llm.ts")).modelLlmCommand,
  predict: async () => (await import("./commands/predict/predict.ts")).predictCommand,
  simulate: async () => (await import("./commands/simulate.ts")).simulateCommand,
  soc: async () => (await import("./commands/soc/soc.ts")).socCommand,
  ptx: async () => (await import("./commands/ptx/ptx.ts")).ptxCommand,
  completion: async () => completionCommand("cotenant-lab", () => commandsOf(laboratory)),
};

export const laboratory: Program = {
  name: "cotenant-lab",
  about: "plan, predict and compare how GPUs are shared",
  hints: [
    '"cotenant-lab COMMAND --help" lists the options of one.',
    '"cotenant --help" lists the commands of cotenant, which is what runs beside jobs.',
  ],
  commands: forPeople,
  internal: {},
  other: { name: "cotenant", commands: commandNames },
};
