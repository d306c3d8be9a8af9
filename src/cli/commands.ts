// The table of commands. To add one: a file beside this one, a line here.
import { benchCommand } from "./bench.ts";
import { clusterCommand } from "./cluster.ts";
import type { Command } from "./command.ts";
import { demoCommand } from "./demo.ts";
import { downCommand } from "./down.ts";
import { loadCommand } from "./load.ts";
import { makeFormsCommand } from "./make-forms.ts";
import { modelCommand } from "./model.ts";
import { predictCommand } from "./predict.ts";
import { profileCommand } from "./profile.ts";
import { ptxCommand } from "./ptx.ts";
import { runCommand } from "./run.ts";
import { socCommand } from "./soc.ts";
import { statusCommand } from "./status.ts";
import { topCommand } from "./top.ts";
import { upCommand } from "./up.ts";

export const commands: readonly Command[] = [
  upCommand,
  runCommand,
  statusCommand,
  topCommand,
  downCommand,
  demoCommand,
  loadCommand,
  benchCommand,
  profileCommand,
  modelCommand,
  predictCommand,
  clusterCommand,
  ptxCommand,
  socCommand,
  makeFormsCommand,
];
