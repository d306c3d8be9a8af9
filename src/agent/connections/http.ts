// The agent's HTTP door, on loopback only. Every path wants the token of agent.json, which only the
// owner can read: other users of the machine reach loopback too.
import { createHash, timingSafeEqual } from "node:crypto";
import type { Server } from "node:http";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import { errors } from "#core";
import { renderMetrics } from "../metrics.ts";
import type { Status } from "../status.ts";
import type { Explanation } from "../why.ts";
import { WaitingRoom } from "./waiting-room.ts";

/** A request, which has no body worth reading, is complete by then. */
const REQUEST_WITHIN_MS = 5000;
/** Connections whose last request had no token, or that have made none; and the others. */
const MOST_STRANGERS = 32;
const MOST_OWNERS = 64;

export interface HttpDoor {
  readonly port: number;
  close(): Promise<void>;
}

interface HttpOptions {
  readonly port: number;
  readonly token: string;
  readonly status: () => Status;
  readonly why: (pid: number) => Explanation;
  readonly stop: () => void;
}

export async function serveHttp({
  port,
  token,
  status,
  why,
  stop,
}: HttpOptions): Promise<HttpDoor> {
  const strangers = new WaitingRoom(MOST_STRANGERS);
  const owners = new WaitingRoom(MOST_OWNERS);
  const app = new Hono<{ Bindings: HttpBindings }>();
  // On "*" and before everything: a path that is spelled unusually is no way round it.
  app.use("*", async (context, next) => {
    const { socket } = context.env.incoming;
    if (!isToken(context.req.header("authorization"), token)) {
      context.header("connection", "close"); // whatever else it sends is not read
      return context.json({ error: "A Bearer token is wanted: it is in agent.json." }, 401);
    }
    strangers.leave(socket);
    owners.enter(socket);
    return next();
  });
  app.get("/status", (context) => context.json(status()));
  app.get("/metrics", async (context) => {
    const { text, contentType } = await renderMetrics(status());
    return context.body(text, 200, { "content-type": contentType });
  });
  app.get("/why/:pid{[0-9]{1,10}}", (context) =>
    context.json(why(Number(context.req.param("pid")))),
  );
  app.post("/stop", (context) => {
    context.env.outgoing.once("close", stop); // after the answer is out
    return context.json({ stopping: true }, 202);
  });
  app.notFound((context) => context.json({ error: "Nothing is here." }, 404));

  const limits = {
    headersTimeout: REQUEST_WITHIN_MS,
    requestTimeout: REQUEST_WITHIN_MS,
    connectionsCheckingInterval: 1000,
  };
  // Of node:http, since no other was asked for.
  const server = createAdaptorServer({ fetch: app.fetch, serverOptions: limits }) as Server;
  server.on("connection", (socket) => strangers.enter(socket));
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "EADDRINUSE" ? errors.portTaken(port) : error),
    );
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : port,
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
