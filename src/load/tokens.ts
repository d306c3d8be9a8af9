import type { RequestReporter } from "./report-requests.ts";
import type { Clock, Server } from "./serve.ts";

/** A short burst, in which an input is copied in, comes before each token, and `told` after it. */
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
