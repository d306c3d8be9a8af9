import { createHash, timingSafeEqual } from "node:crypto";
import type { Server } from "node:http";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { WaitingRoom } from "./waiting-room.ts";

const REQUEST_WITHIN_MS = 5000;
/** Strangers are connections without a valid token in their last request; owners are the others. */
const MAX_STRANGERS = 32;
const MAX_OWNERS = 64;

export type Env = { Bindings: HttpBindings };

export interface Listener {
  readonly app: Hono<Env>;
  wants(...tokens: readonly string[]): MiddlewareHandler<Env>;
  listen(host: string, port: number): Promise<number>;
  close(): Promise<void>;
}

export function newListener(ready: () => boolean): Listener {
  const strangers = new WaitingRoom(MAX_STRANGERS);
  const owners = new WaitingRoom(MAX_OWNERS);
  const app = new Hono<Env>();
  app.get("/healthz", (context) => context.text("ok\n", 200, { connection: "close" }));
  app.get("/readyz", (context) =>
    ready()
      ? context.text("ok\n", 200, { connection: "close" })
      : context.text("not ready\n", 503, { connection: "close" }),
  );
  app.notFound((context) => context.json({ error: "Nothing is here." }, 404));
  const limits = {
    headersTimeout: REQUEST_WITHIN_MS,
    requestTimeout: REQUEST_WITHIN_MS,
    connectionsCheckingInterval: 1000,
  };
  const server = createAdaptorServer({ fetch: app.fetch, serverOptions: limits }) as Server;
  server.on("connection", (socket) => strangers.enter(socket));
  return {
    app,
    wants:
      (...tokens) =>
      async (context, next) => {
        const { socket } = context.env.incoming;
        const given = context.req.header("authorization");
        if (!tokens.some((token) => isToken(given, token))) {
          context.header("connection", "close"); // nothing more is read from it
          const where = "for /metrics in metrics.token, for all in agent.json";
          return context.json({ error: `A Bearer token is wanted: it is ${where}.` }, 401);
        }
        strangers.leave(socket);
        owners.enter(socket);
        return next();
      },
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, host, () => {
          const address = server.address();
          resolve(typeof address === "object" && address ? address.port : port);
        });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections(); // otherwise a silent connection would keep the agent from ending
      }),
  };
}

/** Digests are compared, so that neither the time nor the length tells anything about the token. */
function isToken(header: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(header ?? ""), digest(`Bearer ${token}`));
}
