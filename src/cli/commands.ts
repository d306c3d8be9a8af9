// The table of commands. To add one: a file in commands/, a line here.

import type { Command } from "./command.ts";
import { admitPodsCommand } from "./commands/admit-pods.ts";
import { benchCommand } from "./commands/bench.ts";
import { cdiCommand } from "./commands/cdi.ts";
import { clusterCommand } from "./commands/cluster/cluster.ts";
import { completionCommand } from "./commands/completion.ts";
import { dashboardCommand } from "./commands/dashboard.ts";
import { demoCommand } from "./commands/demo.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { downCommand } from "./commands/down.ts";
import { eventsCommand } from "./commands/events.ts";
import { loadCommand } from "./commands/load.ts";
import { loadLlmCommand } from "./commands/load-llm.ts";
import { logsCommand } from "./commands/logs.ts";
import { makeContextCommand } from "./commands/make-context.ts";
import { makeVariantsCommand } from "./commands/make-variants.ts";
import { matchPodsCommand } from "./commands/match-pods.ts";
import { evictCommand } from "./commands/memory/evict.ts";
import { parkCommand } from "./commands/memory/park.ts";
import { resumeCommand } from "./commands/memory/resume.ts";
import { modelCommand } from "./commands/model.ts";
import { modelLlmCommand } from "./commands/model-llm.ts";
import { offerGpusCommand } from "./commands/offer-gpus.ts";
import { predictCommand } from "./commands/predict/predict.ts";
import { profileCommand } from "./commands/profile/profile.ts";
import { ptxCommand } from "./commands/ptx/ptx.ts";
import { runCommand } from "./commands/run.ts";
import { socCommand } from "./commands/soc/soc.ts";
import { statusCommand } from "./commands/status.ts";
import { topCommand } from "./commands/top/top.ts";
import { tryCommand } from "./commands/try.ts";
import { upCommand } from "./commands/up.ts";
import { whyCommand } from "./commands/why.ts";

export const commands: readonly Command[] = [
  upCommand,
  runCommand,
  statusCommand,
  topCommand,
  dashboardCommand,
  whyCommand,
  eventsCommand,
  logsCommand,
  parkCommand,
  resumeCommand,
  evictCommand,
  downCommand,
  doctorCommand,
  demoCommand,
  loadCommand,
  loadLlmCommand,
  tryCommand,
  benchCommand,
  profileCommand,
  modelCommand,
  modelLlmCommand,
  predictCommand,
  clusterCommand,
  ptxCommand,
  socCommand,
  cdiCommand,
  completionCommand(() => commands),
  admitPodsCommand,
  makeContextCommand,
  makeVariantsCommand,
  matchPodsCommand,
  offerGpusCommand,
];
