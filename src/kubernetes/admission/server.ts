import { createServer, type Server } from "node:https";
import type { Socket } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { type Address, UserError } from "#core";
import type { Api } from "../api/client.ts";
import { bestEffortChanges } from "./best-effort.ts";
import { refusalOfEviction } from "./evictions.ts";
import { highChanges } from "./high.ts";
import { jobChanges } from "./jobs.ts";
import { admittedWith, readReview, refusedWith } from "./review.ts";

/** The API server takes objects of 3 MiB, and a review holds one or two. */
const LARGEST_REVIEW = 8 * 1024 * 1024;
/** The API server waits 1 s for an answer: what is not there by then has no reader any more. */
const REQUEST_WITHIN_MS = 5000;

interface AdmissionServer {
  readonly port: number;
  /** New connections get this certificate. Throws for a text that is none. */
  renew(tls: Certificate): void;
  close(): Promise<void>;
}

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export function serveAdmission(
  { host, port }: Address,
  tls: Certificate,
  api: Pick<Api, "find">,
): Promise<AdmissionServer> {
  const server = createAdaptorServer({
    fetch: application(api).fetch,
    createServer,
    serverOptions: {
      ...tls,
      minVersion: "TLSv1.3",
      handshakeTimeout: REQUEST_WITHIN_MS,
      headersTimeout: REQUEST_WITHIN_MS,
      requestTimeout: REQUEST_WITHIN_MS,
    },
  }) as Server;
  // The server does not count sockets in their handshake, and API servers keep idle ones for 90 s.
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      const address = server.address();
      resolve({
        port: typeof address === "object" && address !== null ? address.port : port,
        renew: (renewed) => server.setSecureContext(renewed),
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            for (const socket of open) socket.destroy();
          }),
      });
    });
  });
}

function application(api: Pick<Api, "find">): Hono {
  const app = new Hono();
  app.get("/healthz", (context) => context.text("ok\n"));
  app.use(bodyLimit({ maxSize: LARGEST_REVIEW }));
  app.post("/best-effort", async (context) => {
    const review = readReview(await context.req.text());
    return context.json(admittedWith(review, bestEffortChanges(review)));
  });
  app.post("/high", async (context) => {
    const review = readReview(await context.req.text());
    const { changes, warnings } = highChanges(review);
    return context.json(admittedWith(review, changes, warnings));
  });
  app.post("/jobs", async (context) => {
    const review = readReview(await context.req.text());
    const { changes, warnings } = jobChanges(review);
    return context.json(admittedWith(review, changes, warnings));
  });
  app.post("/evictions", async (context) => {
    const review = readReview(await context.req.text());
    const refusal = await refusalOfEviction(review, api);
    return context.json(
      refusal === undefined ? admittedWith(review, []) : refusedWith(review, refusal),
    );
  });
  // The API server shows the text to whoever wanted to create the pod.
  app.onError((error, context) =>
    error instanceof UserError
      ? context.text(`${error.message}\n`, 400)
      : context.text("Cotenant's webhook failed: its log says why.\n", 500),
  );
  return app;
}
