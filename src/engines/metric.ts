import { usage } from "#core";
import { engines, type Latency, latencies } from "./engines.ts";

/** undefined for no short name such as vllm.ttft. Throws a UserError for what an engine lacks. */
export function engineMetric(text: string): string | undefined {
  const [, name, what] = /^([a-z]+)\.([a-z0-9]+)$/.exec(text.trim()) ?? [];
  if (name === undefined || what === undefined) return undefined;
  const engine = engines.find((known) => known.name === name);
  if (!engine)
    throw usage(
      `No engine is called "${name}".`,
      `Known: ${engines.map((known) => known.name).join(", ")}.`,
    );
  const metric = engine.histograms[what as Latency];
  if (metric !== undefined) return metric;
  const told = latencies.filter((latency) => engine.histograms[latency] !== undefined);
  throw usage(`${name} has no histogram of "${what}".`, `It has ${told.join(", ")}.`);
}
