// Other users of the machine reach loopback too, so its server requires the token of agent.json,
// which only the owner reads. The token for metrics goes to Prometheus, so it opens nothing else.
// Another address, if the operator names one, serves metrics only.
import { type Address, type Clock, errors, showAddress, UserError } from "#core";
import { parseObjective } from "#policy";
import { fromLoopback } from "./connections/host.ts";
import { type Listener, newListener } from "./connections/listener.ts";
import { type DashboardDoor, dashboardDoor } from "./dashboard/door.ts";
import type { DashboardSource } from "./dashboard/views.ts";
import { metricsContentType, renderMetrics } from "./metrics/metrics-text.ts";
import type { Orders } from "./orders.ts";
import type { Status } from "./status/status.ts";
import type { Explanation } from "./why.ts";

const LOOPBACK = "127.0.0.1";

export interface HttpDoor {
  readonly port: number;
  readonly metricsAddress: string;
  close(): Promise<void>;
}

interface HttpOptions extends Orders {
  readonly port: number;
  readonly token: string;
  readonly metricsToken: string;
  readonly metricsAddress: Address | undefined;
  readonly ready: () => boolean;
  readonly status: () => Status;
  readonly known: () => DashboardSource;
  readonly clock: Clock;
  readonly why: (pid: number) => Explanation;
  readonly stop: () => void;
}

export async function serveHttp(options: HttpOptions): Promise<HttpDoor> {
  const dashboard = dashboardDoor(options);
  const own = ownListener(options, dashboard);
  const closeOwn = async () => {
    dashboard.close();
    await own.close();
  };
  const port = await own.listen(LOOPBACK, options.port).catch((error) => {
    throw error.code === "EADDRINUSE" ? errors.portTaken(options.port) : error;
  });
  const { metricsAddress } = options;
  if (!metricsAddress)
    return { port, metricsAddress: showAddress({ host: LOOPBACK, port }), close: closeOwn };
  const remote = metricsListener(options);
  try {
    const remotePort = await remote.listen(metricsAddress.host, metricsAddress.port);
    return {
      port,
      metricsAddress: showAddress({ ...metricsAddress, port: remotePort }),
      close: async () => void (await Promise.all([closeOwn(), remote.close()])),
    };
  } catch (error) {
    await closeOwn();
    throw errors.cannotListen(showAddress(metricsAddress), error);
  }
}

function ownListener(options: HttpOptions, dashboard: DashboardDoor): Listener {
  const { token, metricsToken, status, why, park, state, hold, share, stop } = options;
  const listener = newListener(options.ready);
  const { app, wants } = listener;
  app.get("/metrics", wants(token, metricsToken), (context) => metricsPage(status, context));
  app.use("*", fromLoopback);
  dashboard.servePage(app);
  // "*" and the first place: no unusual spelling of a path can avoid the check.
  app.use("*", wants(token));
  dashboard.serveData(app);
  app.get("/status", (context) => context.json(status()));
  app.get("/why/:pid{[0-9]{1,10}}", (context) =>
    context.json(why(Number(context.req.param("pid")))),
  );
  for (const wish of ["park", "resume"] as const)
    app.post(`/${wish}/:called`, (context) =>
      context.json(park(context.req.param("called"), wish)),
    );
  app.post("/move/:called/:uuid{GPU-[0-9a-f-]{36}}", (context) =>
    context.json(park(context.req.param("called"), "resume", context.req.param("uuid"))),
  );
  app.post("/objective/:called", (context) => {
    const { called } = context.req.param();
    try {
      return context.json(state(called, parseObjective(context.req.queries("slo") ?? [])));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      return context.text(`${error.message}\n`, 400);
    }
  });
  app.post("/hold/:uuid{GPU-[0-9a-f-]{1,36}}", (context) => {
    hold(context.req.param("uuid"), context.req.query("because") || "somebody asks for it");
    return context.json({ held: true });
  });
  app.post("/lift/:uuid{GPU-[0-9a-f-]{1,36}}", (context) => {
    hold(context.req.param("uuid"), undefined);
    return context.json({ held: false });
  });
  app.post("/share/:uuid{GPU-[0-9a-f-]{1,36}}/:pod{[0-9A-Za-z-]{1,64}}", (context) => {
    const given = Number(context.req.query("share"));
    if (!(given > 0 && given <= 1)) return context.text("A share is above 0 and at most 1.\n", 400);
    share(context.req.param("uuid"), context.req.param("pod"), {
      share: given,
      from: context.req.query("from") || "somebody",
    });
    return context.json({ given });
  });
  app.delete("/share/:uuid{GPU-[0-9a-f-]{1,36}}/:pod{[0-9A-Za-z-]{1,64}}", (context) => {
    share(context.req.param("uuid"), context.req.param("pod"), undefined);
    return context.json({ given: null });
  });
  app.post("/stop", (context) => {
    context.env.outgoing.once("close", stop); // after the answer is out
    return context.json({ stopping: true }, 202);
  });
  return listener;
}

function metricsListener({ metricsToken, ready, status }: HttpOptions): Listener {
  const listener = newListener(ready);
  const { app, wants } = listener;
  app.use("*", wants(metricsToken));
  app.get("/metrics", (context) => metricsPage(status, context));
  return listener;
}

const metricsPage = (
  status: () => Status,
  context: { body(text: string, status: 200, headers: Record<string, string>): Response },
) => context.body(renderMetrics(status()), 200, { "content-type": metricsContentType });
