#!/usr/bin/env node
import { cotenant } from "./commands.ts";
import { start } from "./program/start.ts";

await start(cotenant);
