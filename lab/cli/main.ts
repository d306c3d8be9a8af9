#!/usr/bin/env node
// The `cotenant-lab` command.
import { start } from "#cli";
import { laboratory } from "./commands.ts";

await start(laboratory);
