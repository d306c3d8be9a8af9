// What a service of LLM requests is asked for: --slo ttft.p99=200ms.
import { errors, parseDuration, UserError, usage } from "#core";
import { type Latency, latencies } from "#engines";

export interface LlmObjective {
  readonly text: string;
  readonly measure: Latency;
  readonly quantile: number;
  readonly limitMs: number;
}

/** Throws a UserError. */
export function parseLlmObjective(text: string): LlmObjective {
  const [, name, percent = "", limit = ""] =
    /^([a-z0-9]+)\.p(\d+(?:\.\d+)?)=(.*)$/.exec(text) ?? [];
  const measure = latencies.find((known) => known === name);
  const quantile = Number(percent) / 100;
  if (!measure || !(quantile > 0 && quantile < 1))
    throw usage(
      `--slo: "${text}" is no objective for LLM requests.`,
      `Write ${latencies.join("|")}.pQUANTILE=TIME, such as ttft.p99=200ms or tpot.p90=50ms.`,
    );
  try {
    return { text, measure, quantile, limitMs: parseDuration(limit) / 1e3 };
  } catch (error) {
    throw error instanceof UserError ? errors.badOption(`--slo ${text}`, error) : error;
  }
}
