// To add a command: a file in commands/, a line here, its name in names.ts. A command is loaded
// when it is called, because `cotenant run` must not load what only others need.

import { forwardToLaboratory } from "./laboratory.ts";
import { type commandNames, laboratoryCommands } from "./names/names.ts";
import type { Command } from "./program/command.ts";
import { type CommandTable, commandsOf, type Program } from "./program/program.ts";

const forPeople: Record<(typeof commandNames)[number], CommandTable[string]> = {
  up: async () => (await import("./commands/up/up.ts")).upCommand,
  run: async () => (await import("./commands/run/run.ts")).runCommand,
  status: async () => (await import("./commands/status.ts")).statusCommand,
  top: async () => (await import("./commands/top/top.ts")).topCommand,
  dashboard: async () => (await import("./commands/dashboard.ts")).dashboardCommand,
  why: async () => (await import("./commands/why.ts")).whyCommand,
  events: async () => (await import("./commands/events.ts")).eventsCommand,
  logs: async () => (await import("./commands/logs.ts")).logsCommand,
  objective: async () => (await import("./commands/objective.ts")).objectiveCommand,
  park: async () => (await import("./commands/memory/park.ts")).parkCommand,
  resume: async () => (await import("./commands/memory/resume.ts")).resumeCommand,
  move: async () => (await import("./commands/memory/move.ts")).moveCommand,
  evict: async () => (await import("./commands/memory/evict.ts")).evictCommand,
  down: async () => (await import("./commands/down.ts")).downCommand,
  doctor: async () => (await import("./commands/doctor.ts")).doctorCommand,
  demo: async () => (await import("./commands/demo.ts")).demoCommand,
  load: async () => (await import("./commands/load.ts")).loadCommand,
  "load-llm": async () => (await import("./commands/load-llm.ts")).loadLlmCommand,
  try: async () => (await import("./commands/try.ts")).tryCommand,
  profile: async () => (await import("./commands/profile/profile.ts")).profileCommand,
  cluster: async () => (await import("./commands/cluster/cluster.ts")).clusterCommand,
  cdi: async () => (await import("./commands/cdi.ts")).cdiCommand,
  completion: async () =>
    (await import("./commands/completion.ts")).completionCommand("cotenant", loadCommands),
};

/** Only Cotenant itself starts these, so help does not list them. */
const internal: CommandTable = {
  "admit-pods": async () => (await import("./commands/admit-pods.ts")).admitPodsCommand,
  "make-context": async () => (await import("./commands/make-context.ts")).makeContextCommand,
  "make-variants": async () => (await import("./commands/make-variants.ts")).makeVariantsCommand,
  "match-pods": async () => (await import("./commands/match-pods.ts")).matchPodsCommand,
  "refuse-program": async () => (await import("./commands/refuse-program.ts")).refuseProgramCommand,
  "offer-gpus": async () => (await import("./commands/offer-gpus.ts")).offerGpusCommand,
};

export const cotenant: Program = {
  name: "cotenant",
  about: "let a best-effort job share a GPU with a latency-critical one",
  hints: [
    `cotenant-lab plans and compares: ${laboratoryCommands.join(", ")}. "cotenant-lab --help" lists them.`,
    "",
    '"cotenant COMMAND --help" lists the options of one. To begin with:',
    "    cotenant up",
    "    cotenant run --class high -- python3 serve.py",
    "    cotenant run --class best-effort -- python3 train.py",
    "    cotenant status",
  ],
  commands: forPeople,
  internal,
  other: { name: "cotenant-lab", commands: laboratoryCommands },
  forward: forwardToLaboratory,
};

const loadCommands = (): Promise<readonly Command[]> => commandsOf(cotenant);
