// Makes the manual page of the package, dist/cotenant.1, from the tables of the commands: `npx tsx scripts/manual.ts`.
import { mkdirSync, writeFileSync } from "node:fs";
import { commandsOf, cotenant, manual } from "#cli";
import { laboratory } from "#lab";

const programs = await Promise.all(
  [cotenant, laboratory].map(async (program) => ({
    program,
    commands: await commandsOf(program),
  })),
);
mkdirSync("dist", { recursive: true });
writeFileSync("dist/cotenant.1", manual(programs));
