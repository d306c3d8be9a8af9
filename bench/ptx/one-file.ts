// The PTX on stdin through a process that has read none before, as an agent does that has just been started: tsx
// bench/ptx/one-file.ts slice|preempt|form prints its seconds, by the clock and of CPU time of all threads. "form" makes
// what a client asks the agent for: the forms of one kernel, the middle one of the file.
import { readFileSync } from "node:fs";
import { extractKernel, parse, preempt, print, slice } from "#ptx";

const text = readFileSync(0, "latin1");
const names = [...text.matchAll(/^\.visible \.entry (\w+)/gm)].map(([, name]) => name ?? "");
const middle = names[names.length >> 1] ?? "";

const work = new Map<string, () => string>([
  ["slice", () => print(slice(parse(text)))],
  ["preempt", () => print(preempt(parse(text)))],
  ["form", () => formOf(middle)],
]).get(process.argv[2] ?? "");
if (work === undefined) throw new Error("Say which: one-file.ts slice|preempt|form");

const before = process.cpuUsage();
const begin = performance.now();
work();
const clock = (performance.now() - begin) / 1000;
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ clock, cpu: (user + system) / 1e6 }));

function formOf(kernel: string): string {
  const own = extractKernel(parse(text, kernel), kernel);
  if ("reason" in own) throw new Error(own.reason);
  return print(slice(preempt(own)));
}
