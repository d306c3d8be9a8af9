// node:http calls back once for each piece and does nothing else with it, which fetch does not. A
// server that closes an idle connection would fail the request on it, so each has its own.
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { readEvent, refusalOf } from "./answer.ts";
import { Events } from "./events.ts";

export interface Target {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export interface Answer {
  readonly timesNs: readonly number[];
  readonly tokens: number;
  readonly promptTokens: number | undefined;
  readonly failed: { readonly why: string; readonly example: string } | undefined;
}

/** Never rejects: a failure is part of the answer. */
export function ask(
  { url, headers, timeoutMs }: Target,
  body: string,
  now: () => number,
  stop: AbortSignal,
): Promise<Answer> {
  const timesNs: number[] = [];
  let chunks = 0;
  let made: number | undefined;
  let promptTokens: number | undefined;
  let ended = false;
  return new Promise((resolve) => {
    const finish = (why?: string, example = "") => {
      clearTimeout(timer);
      stop.removeEventListener("abort", abort);
      outgoing.destroy();
      const failed = why === undefined ? undefined : { why, example };
      resolve({ timesNs, tokens: made ?? chunks, promptTokens, failed });
    };
    const abort = () => finish(STOPPED);
    const timer = setTimeout(() => finish(`no end within ${timeoutMs / 1000} s`), timeoutMs);
    const outgoing = (url.protocol === "https:" ? requestHttps : requestHttp)(url, {
      method: "POST",
      agent: false,
      headers: {
        ...headers,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        accept: "text/event-stream",
      },
    });
    stop.addEventListener("abort", abort, { once: true });
    outgoing.on("error", (error: NodeJS.ErrnoException) => finish(reasonOf(error), error.message));
    outgoing.on("response", (incoming) => {
      incoming.on("error", (error: NodeJS.ErrnoException) =>
        finish(reasonOf(error), error.message),
      );
      if (incoming.statusCode !== 200) return refused(incoming, finish);
      if (!/^text\/event-stream/i.test(incoming.headers["content-type"] ?? ""))
        return finish("the answer is no stream", `${incoming.headers["content-type"]}`);
      const events = new Events();
      incoming.on("data", (piece: Buffer) => {
        const at = now();
        let text = false;
        for (const data of events.push(piece)) {
          const said = readEvent(data);
          if (said.kind === "end") ended = true;
          else if (said.kind === "error")
            return finish("the server reports an error", said.message);
          else {
            if (said.text) chunks++;
            text ||= said.text;
            made = said.made ?? made;
            promptTokens = said.promptTokens ?? promptTokens;
          }
        }
        if (text) timesNs.push(at);
      });
      incoming.on("end", () => {
        if (!ended) finish("the stream ends early", "it has no [DONE]");
        else if (timesNs.length === 0) finish("no token came");
        else finish();
      });
    });
    outgoing.end(body);
  });
}

/** The program itself aborted such a request. */
export const STOPPED = "stopped";

function refused(incoming: IncomingMessage, finish: (why: string, example: string) => void): void {
  let body = "";
  incoming.setEncoding("utf8");
  incoming.on("data", (piece: string) => (body += body.length < LONGEST_REFUSAL ? piece : ""));
  incoming.on("end", () => finish(`HTTP status ${incoming.statusCode}`, refusalOf(body)));
}

const LONGEST_REFUSAL = 10_000;

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "connection reset",
  ETIMEDOUT: "connection timed out",
  ENOTFOUND: "host not found",
  EMFILE: "too many open files here",
  EADDRNOTAVAIL: "no free port here",
};

const reasonOf = ({ code = "", message }: NodeJS.ErrnoException): string =>
  reasons[code] ?? (code || message);
