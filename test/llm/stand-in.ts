// An LLM engine on the software GPU: it batches requests, each step is some kernels that it waits for, and it has OpenAI's
// API and vLLM's metrics. It stands in for workloads/llm_server.py where there is no PyTorch.
//   node --import tsx test/llm/stand-in.ts --port 8000 [--step-ms 20] [--per-sequence-us 200] [--per-prompt-token-us 30]
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Counted, TOKEN_S, TTFT_S } from "#llm-model";
import { deviceMemory, launch, loadCuda, makeStream, openGpu, parameters, stateWords } from "#load";

const { values: given } = parseArgs({
  options: {
    port: { type: "string", default: "8000" },
    "step-ms": { type: "string", default: "20" },
    "per-sequence-us": { type: "string", default: "200" },
    "per-prompt-token-us": { type: "string", default: "30" },
    "batch-tokens": { type: "string", default: "1024" },
  },
});
const [stepMs, perSequenceUs, perPromptTokenUs, batchTokens] = [
  Number(given["step-ms"]),
  Number(given["per-sequence-us"]),
  Number(given["per-prompt-token-us"]),
  Number(given["batch-tokens"]),
];

const KERNEL_US = 500;
/** The kernel takes 170 ns of the software GPU for each iteration. */
const ITERATION_NS = 170;

const gpu = openGpu(loadCuda(), 0, 1);
const stream = makeStream(gpu, "stream");
const state = deviceMemory(gpu, 4 * stateWords(gpu));
const kernelOf = (us: number) =>
  parameters(state, BigInt(Math.round((us * 1000) / ITERATION_NS)), state, 0n, BigInt(gpu.sms));
const whole = kernelOf(KERNEL_US);

/** A step of this many us. */
function work(us: number): void {
  const count = Math.max(1, Math.round(us / KERNEL_US));
  for (let i = 0; i < count; i++) launch(gpu.cuda, gpu.kernels.compute, whole, stream);
  gpu.cuda.cuStreamSynchronize(stream);
}

interface Request {
  readonly response: ServerResponse;
  readonly arrived: number;
  readonly tokens: number;
  promptLeft: number;
  made: number;
  first: number;
  last: number;
}

const histograms = {
  ttft: new Counted("vllm:time_to_first_token_seconds", TTFT_S),
  itl: new Counted("vllm:inter_token_latency_seconds", TOKEN_S),
  tpot: new Counted("vllm:request_time_per_output_token_seconds", TOKEN_S),
};
let running: Request[] = [];
let wake: () => void = () => {};

async function serve(): Promise<never> {
  for (;;) {
    if (running.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    const decoding = running.filter(({ promptLeft }) => promptLeft === 0);
    let budget = batchTokens - decoding.length;
    let prefilled = 0;
    const ending: Request[] = [];
    for (const request of running) {
      if (request.promptLeft === 0) continue;
      const part = Math.min(budget, request.promptLeft);
      request.promptLeft -= part;
      budget -= part;
      prefilled += part;
      if (request.promptLeft === 0) ending.push(request);
    }
    work(1000 * stepMs + perSequenceUs * decoding.length + perPromptTokenUs * prefilled);
    const now = performance.now() / 1000;
    for (const request of decoding) {
      histograms.itl.observe(now - request.last);
      answer(request, now);
    }
    for (const request of ending) {
      request.first = now;
      histograms.ttft.observe(now - request.arrived);
      answer(request, now);
    }
    running = running.filter(({ made, tokens }) => made < tokens);
    await turn();
  }
}

function answer(request: Request, now: number): void {
  request.made++;
  request.last = now;
  send(request.response, { choices: [{ index: 0, text: ` t${request.made}` }] });
  if (request.made < request.tokens) return;
  if (request.made > 1) histograms.tpot.observe((now - request.first) / (request.made - 1));
  send(request.response, { choices: [], usage: { completion_tokens: request.made } });
  request.response.end("data: [DONE]\n\n");
}

const send = (response: ServerResponse, document: unknown) =>
  response.write(`data: ${JSON.stringify(document)}\n\n`);

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = "";
  for await (const piece of request) text += piece;
  return JSON.parse(text) as Record<string, unknown>;
}

const server = createServer(async (request, response) => {
  if (request.url === "/v1/completions") {
    const arrived = performance.now() / 1000;
    const { prompt, max_tokens: tokens } = await bodyOf(request);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const promptLeft = Array.isArray(prompt) ? prompt.length : String(prompt).split(" ").length;
    running.push({
      response,
      arrived,
      promptLeft,
      tokens: Number(tokens),
      made: 0,
      first: 0,
      last: 0,
    });
    wake();
  } else if (request.url === "/metrics") {
    response.end(
      Object.values(histograms)
        .flatMap((one) => one.lines())
        .join("\n"),
    );
  } else if (request.url === "/v1/models") {
    response.end(JSON.stringify({ data: [{ id: "stand-in", max_model_len: 8192 }] }));
  } else response.end();
});
server.listen(Number(given.port), "127.0.0.1", () => {
  work(1000);
  console.error("ready");
});
process.on("SIGTERM", () => process.exit(0));
void serve();
