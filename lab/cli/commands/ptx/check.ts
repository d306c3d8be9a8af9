// `cotenant-lab ptx check`: which variants are legal, and why others are not.
import { table } from "#core";
import { type KernelReport, legality, type Module, type Reason, targetOf, verify } from "#ptx";
import type { PtxArgs } from "./options.ts";

/** Exit status 1 if names are out of order: ptxas would refuse the file. */
export function check(module: Module, file: string, { json: asJson }: PtxArgs): number {
  const problems = verify(module);
  const kernels = legality(module);
  if (asJson)
    console.log(
      JSON.stringify({ file, target: targetOf(module).name, problems, kernels }, null, 2),
    );
  else for (const line of report(module, file)) console.log(line);
  return problems.length === 0 ? 0 : 1;
}

function report(module: Module, file: string): string[] {
  const problems = verify(module);
  const kernels = legality(module);
  const { name, version } = targetOf(module);
  const ptx = `PTX ${Math.floor(version / 100)}.${version % 100}`;
  return [
    `${file}: ${ptx} for ${name || "no target"}, ${kernels.length} ${kernels.length === 1 ? "kernel" : "kernels"}`,
    ...problems.map(({ line, column, text }) => `  line ${line}, column ${column}: ${text}`),
    ...table(
      [
        ["kernel", "line", "slice", "preempt"],
        ...kernels.map((one) => [one.kernel, `${one.line}`, said(one.slice), preemptSaid(one)]),
      ],
      4,
    ),
    ...kernels.flatMap(refusals),
  ];
}

const said = ({ legal }: { readonly legal: boolean }) => (legal ? "legal" : "refused");

function preemptSaid({ preempt: { legal, unified, wholeWarps } }: KernelReport): string {
  if (!legal) return "refused";
  const conditions = [
    unified ? "barriers unified" : "",
    wholeWarps ? "if the block's x size is a multiple of 32" : "",
  ].filter((one) => one !== "");
  return conditions.length === 0 ? "legal" : `legal, ${conditions.join(", ")}`;
}

/** A reason that holds for both variants is shown once. */
function refusals({ kernel, slice: sliced, preempt: persistent }: KernelReport): string[] {
  const line = (which: string, one: Reason) =>
    `${kernel}: ${which} refused, line ${one.line}: ${one.text} [${one.code}]`;
  const both = (one: Reason) =>
    persistent.reasons.some((other) => other.code === one.code && other.text === one.text);
  return [
    ...sliced.reasons.map((one) => line(both(one) ? "slice and preempt" : "slice", one)),
    ...persistent.reasons
      .filter((one) => !sliced.reasons.some((o) => o.code === one.code && o.text === one.text))
      .map((one) => line("preempt", one)),
  ];
}
