// The PTX on stdin through a process that has read none before, as an agent does that has just been started: tsx
// bench/ptx/one-file.ts slice|preempt prints its seconds, by the clock and of CPU time of all threads.
import { readFileSync } from "node:fs";
import { parse, preempt, print, slice } from "#ptx";

const text = readFileSync(0, "latin1");
const before = process.cpuUsage();
const begin = performance.now();
print((process.argv[2] === "slice" ? slice : preempt)(parse(text)));
const clock = (performance.now() - begin) / 1000;
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ clock, cpu: (user + system) / 1e6 }));
