// The agent's HTTP door, on loopback only. Every path wants the token of agent.json, which only the
// owner can read: other users of the machine reach loopback too.
import { createHash, timingSafeEqual } from "node:crypto";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { errors } from "#core";
import { renderMetrics } from "./metrics.ts";
import type { Status } from "./status.ts";

export interface HttpDoor {
  readonly port: number;
  close(): Promise<void>;
}

interface HttpOptions {
  readonly port: number;
  readonly token: string;
  readonly status: () => Status;
  readonly stop: () => void;
}

export async function serveHttp({ port, token, status, stop }: HttpOptions): Promise<HttpDoor> {
  const app = new Hono();
  // On "*" and before everything: a path that is spelled unusually is no way round it.
  app.use("*", async (context, next) => {
    if (!isToken(context.req.header("authorization"), token))
      return context.json({ error: "A Bearer token is wanted: it is in agent.json." }, 401);
    return next();
  });
  app.get("/status", (context) => context.json(status()));
  app.get("/metrics", async (context) => {
    const { text, contentType } = await renderMetrics(status());
    return context.body(text, 200, { "content-type": contentType });
  });
  app.post("/stop", (context) => {
    setImmediate(stop); // after the answer is out
    return context.json({ stopping: true }, 202);
  });
  app.notFound((context) => context.json({ error: "Nothing is here." }, 404));

  const server = createAdaptorServer({ fetch: app.fetch });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (fault: NodeJS.ErrnoException) =>
      reject(fault.code === "EADDRINUSE" ? errors.portTaken(port) : fault),
    );
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        if ("closeIdleConnections" in server) server.closeIdleConnections();
      }),
  };
}

/** Compares digests, so that neither the time nor the length tells anything about the token. */
function isToken(header: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(header ?? ""), digest(`Bearer ${token}`));
}
