// Requests that are more than one submission: each of this many tokens, one after the other, as of an LLM engine. And requests
// that Cotenant is told of.

import type { RequestReporter } from "./report-requests.ts";
import type { Clock, Server } from "./serve.ts";

/** Each token is a short burst, in which an input is copied in, and then what `server` serves. `told`: called after each. */
export const inTokens = (
  server: Server,
  clock: Pick<Clock, "now">,
  copyIn: (request: number) => void,
  tokens: number,
  told: (request: number) => void,
): Server => {
  let first = 0;
  return {
    submit() {},
    wait(request) {
      for (let token = 0; token < tokens; token++) {
        copyIn(request);
        server.submit(request);
        server.wait(request);
        if (token === 0) first = clock.now();
        told(request);
      }
    },
    streamed: () => ({ first, tokens }),
  };
};

/** Told of from submission to completion. */
export const reporting = (
  teller: RequestReporter,
): {
  readonly token: (request: number) => void;
  readonly around: (server: Server) => Server;
} => {
  const handles = new Map<number, number | bigint>();
  const handleOf = (request: number) => handles.get(request) ?? 0;
  return {
    token: (request) => teller.progress(handleOf(request), 1),
    around: (server) => ({
      ...server,
      submit(request) {
        handles.set(request, teller.begin());
        server.submit(request);
      },
      wait(request) {
        server.wait(request);
        teller.end(handleOf(request));
        handles.delete(request);
      },
    }),
  };
};
