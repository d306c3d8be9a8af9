import { errors, type HistogramSeries, UserError } from "#core";
import { JobProcess } from "../processes/process.ts";
import { Lines } from "./lines.ts";
import { blockBetween, type Metric, readSeries } from "./prometheus.ts";
import type { Block, Blocks } from "./samples.ts";

const ANSWERS_WITHIN_MS = 5000;
/** Latencies that are printed within this time are one block. */
const BLOCK_NS = 250e6;

export type AppLatency =
  | { readonly kind: "metric"; readonly url: string; readonly metric: Metric }
  | { readonly kind: "command"; readonly command: string };

export interface LatencyWatch {
  begin(): Promise<() => Promise<Blocks>>;
  /** Throws JobFailed if what it needs has ended. */
  check(): void;
  close(): Promise<void>;
}

interface Surroundings {
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  readonly now: () => number;
}

export const watchLatency = (of: AppLatency, around: Surroundings): LatencyWatch =>
  of.kind === "metric" ? watchMetric(of) : watchCommand(of.command, around);

function watchMetric({ url, metric }: Extract<AppLatency, { kind: "metric" }>): LatencyWatch {
  const look = async (): Promise<HistogramSeries> => {
    const series = readSeries(await textAt(url), metric);
    if (series) return series;
    throw bad(url, `it has no histogram ${metric.name} with these labels`);
  };
  return {
    async begin() {
      const from = await look();
      return async () => {
        const block = blockBetween(from, await look(), metric);
        if (!block) throw bad(url, `the counts of ${metric.name} went down`);
        return [block];
      };
    },
    check: () => {},
    close: async () => {},
  };
}

async function textAt(url: string): Promise<string> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) });
    if (answer.ok) return await answer.text();
    throw new Error(`it answers with HTTP status ${answer.status}`);
  } catch (error) {
    throw bad(url, error instanceof Error ? causeOf(error) : String(error));
  }
}

const causeOf = ({ message, cause }: Error): string =>
  cause === undefined ? message : `${message} (${errors.whyOf(cause)})`;

const bad = (url: string, why: string) =>
  new UserError(
    "BAD_METRICS",
    `The metrics at ${url} can't be used: ${why}.`,
    "Check --metrics-url and --metric with curl while the service runs.",
  );

/** Each line that the command prints is the latency of a request in seconds. */
function watchCommand(command: string, { directory, env, now }: Surroundings): LatencyWatch {
  const job = new JobProcess("latency-command", ["sh", "-c", command], env, directory);
  let seen: { readonly ms: number; readonly atNs: number }[] = [];
  const lines = new Lines(job.log, now, (line, atNs) => {
    const seconds = line.trim() === "" ? Number.NaN : Number(line);
    if (seconds >= 0) seen.push({ ms: seconds * 1e3, atNs });
  });
  return {
    async begin() {
      lines.look();
      seen = [];
      const fromNs = now();
      return async () => {
        lines.look();
        const blocks = new Map<number, [number, number][]>();
        for (const { ms, atNs } of seen) {
          const at = Math.floor((atNs - fromNs) / BLOCK_NS);
          blocks.set(at, [...(blocks.get(at) ?? []), [ms, 1]]);
        }
        return [...blocks.values()] as readonly Block[];
      };
    },
    check: () => job.check(),
    async close() {
      lines.close();
      job.kill("SIGTERM");
      await job.end();
    },
  };
}
