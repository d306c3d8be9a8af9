// The table of commands. To add one: a file in commands/, a line here. A command is loaded when it is called, because
// `cotenant run` stands before each start of a service and must not load what only others need.
import type { Command } from "./command.ts";

type Table = Readonly<Record<string, () => Promise<Command>>>;

const forPeople: Table = {
  up: async () => (await import("./commands/up.ts")).upCommand,
  run: async () => (await import("./commands/run.ts")).runCommand,
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
  bench: async () => (await import("./commands/bench.ts")).benchCommand,
  profile: async () => (await import("./commands/profile/profile.ts")).profileCommand,
  model: async () => (await import("./commands/model.ts")).modelCommand,
  "model-llm": async () => (await import("./commands/model-llm.ts")).modelLlmCommand,
  predict: async () => (await import("./commands/predict/predict.ts")).predictCommand,
  cluster: async () => (await import("./commands/cluster/cluster.ts")).clusterCommand,
  ptx: async () => (await import("./commands/ptx/ptx.ts")).ptxCommand,
  soc: async () => (await import("./commands/soc/soc.ts")).socCommand,
  cdi: async () => (await import("./commands/cdi.ts")).cdiCommand,
  completion: async () =>
    (await import("./commands/completion.ts")).completionCommand(loadCommands),
};

/** Only Cotenant itself starts these, so help does not list them. */
const internal: Table = {
  "admit-pods": async () => (await import("./commands/admit-pods.ts")).admitPodsCommand,
  "make-context": async () => (await import("./commands/make-context.ts")).makeContextCommand,
  "make-variants": async () => (await import("./commands/make-variants.ts")).makeVariantsCommand,
  "match-pods": async () => (await import("./commands/match-pods.ts")).matchPodsCommand,
  "offer-gpus": async () => (await import("./commands/offer-gpus.ts")).offerGpusCommand,
};

const load = (table: Table) => Promise.all(Object.values(table).map((one) => one()));

/** The commands that help lists. */
export const loadCommands = (): Promise<readonly Command[]> => load(forPeople);
export const loadInternalCommands = (): Promise<readonly Command[]> => load(internal);

/** Names of the commands that help lists. */
export const commandNames: readonly string[] = Object.keys(forPeople);

/** undefined: there is no such command. */
export async function loadCommand(name: string): Promise<Command | undefined> {
  const table = [forPeople, internal].find((one) => Object.hasOwn(one, name));
  return await table?.[name]?.();
}
