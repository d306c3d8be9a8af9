// Short names for metrics of engines: vllm.ttft.
import { usage } from "#core";
import { engines, type Latency, latencies } from "./engines.ts";

/** The metric's own name; undefined if the text is no short name. Throws a UserError for what an engine does not tell. */
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
