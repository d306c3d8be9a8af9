#!/usr/bin/env node
// The `cotenant` command.
import { cotenant } from "./commands.ts";
import { start } from "./program/start.ts";

await start(cotenant);
