// What every HTTP address of the agent has: limits, room for so many connections, tokens, and two paths without one.
import { createHash, timingSafeEqual } from "node:crypto";
import type { Server } from "node:http";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { WaitingRoom } from "./waiting-room.ts";

/** A request, which has no body worth reading, is complete by then. */
const REQUEST_WITHIN_MS = 5000;
/** Connections whose last request had no token, or that have made none; and the others. */
const MOST_STRANGERS = 32;
const MOST_OWNERS = 64;

export type Env = { Bindings: HttpBindings };

export interface Listener {
  readonly app: Hono<Env>;
  /** To stand before what only those may have who know one of the tokens. */
  wants(...tokens: readonly string[]): MiddlewareHandler<Env>;
  /** Resolves to the port. Rejects if the address can't be had. */
  listen(host: string, port: number): Promise<number>;
  close(): Promise<void>;
}

/** `ready`: whether clients are served. */
export function newListener(ready: () => boolean): Listener {
  const strangers = new WaitingRoom(MOST_STRANGERS);
  const owners = new WaitingRoom(MOST_OWNERS);
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
  // Of node:http, since no other was asked for.
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
          context.header("connection", "close"); // whatever else it sends is not read
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
        server.closeAllConnections(); // else one that says nothing would keep the agent from ending
      }),
  };
}

/** Compares digests, so that neither the time nor the length tells anything about the token. */
function isToken(header: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(header ?? ""), digest(`Bearer ${token}`));
}
