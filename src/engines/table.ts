import { engines, latencies } from "./engines.ts";

export function enginesTable(): readonly string[] {
  const code = (name: string | undefined) => (name === undefined ? "" : `\`${name}\``);
  const rows = engines.map((engine) => [
    engine.name,
    ...latencies.map((latency) => code(engine.histograms[latency])),
    `${engine.source}${engine.note === undefined ? "" : `; ${engine.note}`}`,
  ]);
  const head = ["engine", ...latencies.map((latency) => `\`.${latency}\``), "names from"];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
}
