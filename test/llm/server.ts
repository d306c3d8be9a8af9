// An OpenAI-compatible server whose answers a test decides: what it sends, and after what it waits.
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { stream } from "hono/streaming";

export interface Request {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** From 0. */
  readonly index: number;
}

/** Sends bytes of the stream; ends the connection without an end of the answer. */
interface Sending {
  send(text: string): Promise<void>;
  event(document: object): Promise<void>;
  reset(): void;
}

export type Answering = (request: Request, sending: Sending) => Promise<void>;

export interface TestServer {
  readonly url: string;
  readonly requests: Request[];
  /** How many were being answered at once, at most. */
  readonly most: () => number;
  close(): Promise<void>;
}

/** The text of a token. */
export const token = (text = "a") => ({ choices: [{ index: 0, text }] });
export const DONE = "data: [DONE]\n\n";

/** Answers each token of max_tokens by a chunk, then the usage. */
export const plainly: Answering = async ({ body }, { event, send }) => {
  const tokens = Number(body.max_tokens);
  for (let i = 0; i < tokens; i++) await event(token());
  await event({
    choices: [],
    usage: { completion_tokens: tokens, prompt_tokens: (body.prompt as unknown[]).length },
  });
  await send(DONE);
};

/** `refuse`: an HTTP status for a request, instead of a stream. `metrics`: the text of /metrics. */
export async function startServer(
  answer: Answering,
  refuse: (request: Request) => 400 | 503 | undefined = () => undefined,
  metrics?: () => string,
): Promise<TestServer> {
  const requests: Request[] = [];
  let running = 0;
  let most = 0;
  const app = new Hono<{ Bindings: { incoming: import("node:http").IncomingMessage } }>();
  app.get("/v1/models", (c) => c.json({ object: "list", data: [{ id: "test-model" }] }));
  if (metrics) app.get("/metrics", (c) => c.text(metrics()));
  app.post("/v1/*", async (c) => {
    const request = { path: c.req.path, body: await c.req.json(), index: requests.length };
    requests.push(request);
    const status = refuse(request);
    if (status) return c.json({ error: { message: `refused with ${status}` } }, status);
    most = Math.max(most, ++running);
    c.header("content-type", "text/event-stream");
    return stream(c, async (out) => {
      const send = async (text: string) => void (await out.write(text));
      await answer(request, {
        send,
        event: (document) => send(`data: ${JSON.stringify(document)}\n\n`),
        reset: () => c.env.incoming.socket.resetAndDestroy(),
      });
      running--;
    });
  });
  const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    most: () => most,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
