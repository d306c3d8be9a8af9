// The columns tell the format.
import { csvRows, inMessage, usage } from "#core";
import { traceRequests } from "#load";
import type { PlannedRequest } from "./planned-request.ts";

const formats = [
  // Azure LLM inference trace 2023: github.com/Azure/AzurePublicDataset.
  { at: "TIMESTAMP", unit: "iso", prompt: "ContextTokens", output: "GeneratedTokens" },
  // BurstGPT: github.com/HPMLL/BurstGPT. A request that failed there has 0 response tokens.
  { at: "Timestamp", unit: "s", prompt: "Request tokens", output: "Response tokens" },
] as const;

export interface LlmTrace {
  readonly path: string;
  /** Requests a second: time is stretched until the mean is this. */
  readonly rate: number | undefined;
  readonly from: number; // the first seconds of the trace are left out
}

/** Requests without prompt or answer are left out. */
export function readLlmTrace(
  text: string,
  { path, rate, from }: LlmTrace,
): { readonly requests: readonly PlannedRequest[]; readonly seconds: number } {
  const head = (text.split("\n", 1)[0] ?? "").replace(/^\uFEFF/, "").trim();
  const header = csvRows(head)[0]?.fields ?? [];
  const format = formats.find(({ at, prompt, output }) =>
    [at, prompt, output].every((column) => header.includes(column)),
  );
  if (!format)
    throw usage(
      `${path} has not the columns of a trace of LLM requests in its first line: "${inMessage(head)}".`,
      `Known: ${formats.map(({ at, prompt, output }) => [at, prompt, output].join(",")).join("; ")}.`,
    );
  const trace = traceRequests(text, { path, column: format.at, unit: format.unit, from }, [
    format.prompt,
    format.output,
  ]);
  const requests = trace.requests
    .map(({ offset, counts: [prompt = 0, output = 0] }) => ({ offset, prompt, output }))
    .filter(({ prompt, output }) => prompt > 0 && output > 0);
  if (requests.length === 0) throw usage(`${path} has no request with a prompt and an answer.`);
  if (rate === undefined) return { requests, seconds: trace.seconds };
  if (trace.seconds === 0)
    throw usage(`${path} has all its rows at one instant, so it has no rate to scale.`);
  const seconds = requests.length / rate;
  const factor = seconds / trace.seconds;
  return {
    requests: requests.map((one) => ({ ...one, offset: Math.floor(one.offset * factor) })),
    seconds,
  };
}
