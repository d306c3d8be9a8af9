// Anybody on this machine may read the page, which holds no data; the stream wants the token.
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Hono } from "hono";
import type { Clock } from "#core";
import type { Env } from "../connections/listener.ts";
import { Feed } from "./feed.ts";
import { readPageFiles } from "./page-files.ts";
import type { DashboardSource } from "./views.ts";

export interface DashboardDoor {
  servePage(app: Hono<Env>): void;
  serveData(app: Hono<Env>): void;
  close(): void;
}

interface DashboardOptions {
  readonly known: () => DashboardSource;
  readonly clock: Clock;
}

export function dashboardDoor({ known, clock }: DashboardOptions): DashboardDoor {
  const files = readPageFiles();
  const feed = new Feed(known, clock);
  return {
    servePage(app) {
      for (const [name, { text, headers }] of files) {
        const path = name === "index.html" ? "/dashboard" : `/dashboard/${name}`;
        app.get(path, (context) => context.body(text, 200, { ...headers }));
      }
    },
    serveData(app) {
      app.get("/dashboard/live", (context) => {
        if (feed.isFull)
          return context.json(
            { error: 'Too many dashboards and "cotenant top" are open: close one of them.' },
            503,
          );
        const { outgoing } = context.env;
        outgoing.writeHead(200, {
          "content-type": "text/event-stream",
          "cache-control": "no-store",
          "x-content-type-options": "nosniff",
        });
        feed.add(outgoing);
        return RESPONSE_ALREADY_SENT;
      });
    },
    close: () => feed.close(),
  };
}
