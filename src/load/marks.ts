import type { Served } from "./plan.ts";

/** Times are since `origin`, in ns; the file has monotonic ns. */
export function formatMarks(served: readonly Served[], origin: bigint): string {
  const at = (ns: number) => origin + BigInt(Math.round(ns));
  const lines = served.map((r) => `${at(r.arrival)} ${at(r.start)} ${at(r.done)}`);
  return `# arrival start done, monotonic ns\n${lines.join("\n")}\n`;
}

export function parseMarks(text: string): readonly Served[] {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const [arrival = 0, start = 0, done = 0] = line.split(" ").map(Number);
    return { arrival, start, done };
  });
}
