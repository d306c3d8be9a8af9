// `cotenant-lab ptx run`: a kernel on the emulator.

import { type Ran, runKernel } from "#emulator";
import type { Module } from "#ptx";
import type { PtxArgs } from "./options.ts";

export function run(module: Module, file: string, args: PtxArgs): number {
  const ran = runKernel(module, file, args);
  if (args.json) console.log(JSON.stringify(ran, null, 2));
  else for (const line of runReport(ran)) console.log(line);
  return 0;
}

function runReport({ kernel, instructions, printed, memories }: Ran): string[] {
  return [
    ...printed.map((one) => one.replace(/\n$/, "")),
    `${kernel}: ${instructions} instructions`,
    ...memories.map(
      ({ argument, type, count, values }) =>
        `argument ${argument}, ${type}[${count}]: ${values.join(" ")}${values.length < count ? " ..." : ""}`,
    ),
  ];
}
