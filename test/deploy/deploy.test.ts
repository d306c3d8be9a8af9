// The alerts and the dashboard that operators are given: a real Prometheus scrapes a real agent by the example's own
// configuration, and is asked everything that they ask.
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  cotenantItself,
  eventually,
  type Machine,
  startMachine,
  temporaryDirectory,
} from "../e2e/machine.ts";
import { hasPromtool } from "./prometheus.ts";

const RULES = "deploy/prometheus/cotenant.rules.yml";
const SCRAPE = "deploy/prometheus/scrape.yml";

interface Dashboard {
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string }[];
  };
  readonly panels: readonly Panel[];
}

interface Panel {
  readonly title: string;
  readonly datasource: unknown;
  readonly targets: readonly { readonly expr: string; readonly datasource: unknown }[];
}

const dashboard: Dashboard = JSON.parse(readFileSync("deploy/grafana/cotenant.json", "utf8"));

test("each panel of the dashboard asks the data source that its reader chooses", () => {
  const variables = dashboard.templating.list.map(({ name, type }) => `${name} ${type}`);
  expect(variables).toEqual(["datasource datasource", "instance query"]);
  const chosen = { type: "prometheus", uid: "$" + "{datasource}" };
  for (const { title, datasource, targets } of dashboard.panels) {
    expect(datasource, title).toEqual(chosen);
    expect(targets.length, title).toBeGreaterThan(0);
    for (const target of targets) expect(target.datasource, title).toEqual(chosen);
  }
});

const run = (...args: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8" });
  return { status, said: stdout + stderr };
};

describe.skipIf(!hasPromtool)("promtool", () => {
  test("finds the alerts about a cluster valid, and they fire when they should", () => {
    const rules = "deploy/prometheus/kubernetes.rules.yml";
    expect(run("check", "rules", rules)).toMatchObject({ status: 0 });
    expect(run("test", "rules", "test/deploy/kubernetes-alerts.yml")).toMatchObject({ status: 0 });
  });

  test("finds the alerts valid", () => {
    expect(run("check", "rules", RULES)).toMatchObject({ status: 0 });
  });

  test("sees each alert fire when it should, and only then", () => {
    expect(run("test", "rules", "test/deploy/alerts.yml")).toMatchObject({ status: 0 });
  });
});

/** Metrics that a software GPU lacks: Prometheus must still understand the query. */
const notTold = /cotenant_gpu_(power_watts|sm_clock_hertz)/;

test.skipIf(!hasPromtool)(
  "a Prometheus that scrapes an agent has an answer to every query",
  async () => {
    const machine = await startMachine({}, "--policy", "slo", "--metrics-address", "127.0.0.1:0");
    await startClients(machine);
    const prometheus = await startPrometheus(
      await machine.status().then(({ agent }) => agent.metrics),
    );

    const panels = dashboard.panels.flatMap(({ targets }) =>
      targets.map(({ expr }) => filledIn(expr)),
    );
    const alerts = await prometheus.alerts();
    expect(alerts).toHaveLength(7);
    // Whether an alert fires now may depend on how fast this machine is: alerts.yml says when it should.
    const signals = alerts.map(({ query }) => withoutThreshold(query));
    for (const { query } of alerts) await prometheus.ask(query);
    for (const query of [...panels, ...guideQueries, ...signals, ...alertsThatFire(alerts)])
      if (notTold.test(query)) await prometheus.ask(query);
      else await eventually(query, async () => (await prometheus.ask(query)) > 0);
    await eventually("Prometheus has evaluated all alerts without an error", async () =>
      (await prometheus.alerts()).every(({ health }) => health === "ok"),
    );
  },
);

/** About what is there all the time, and does not depend on it. */
const alertsThatFire = (alerts: readonly Alert[]) =>
  ["CotenantHighClientUnprotected", "CotenantStranger", "CotenantMemoryRefused"].map((name) => {
    const alert = alerts.find((one) => one.name === name);
    if (!alert) throw new Error(`there is no alert ${name}`);
    return alert.query;
  });

const guideQueries =
  readFileSync("docs/guide/reference/monitoring.md", "utf8").match(/^cotenant_.*$/gm) ?? [];

const withoutThreshold = (query: string) => query.replace(/ (==|>) [\d.]+/g, "");

const filledIn = (expr: string) =>
  expr.replaceAll("$instance", ".*").replaceAll("$__rate_interval", "1m");

/** One of each that an alert or a panel is about. */
async function startClients(machine: Machine): Promise<void> {
  const forLong = ["--seconds", "3600"];
  const busy = [...cotenantItself, "load", "--rate", "40", ...forLong];
  const run = (options: readonly string[], program: readonly string[]) =>
    machine.elsewhere([...cotenantItself, "run", ...options, "--", ...program]);
  const objectives = ["--slo", "p99=50ms", "--slo", "slowdown=50%"];
  const high = run(["--class", "high", "--name", "serve", ...objectives], busy);
  const ranked = machine.run("high", busy, { WORLD_SIZE: "2" });
  const training = run(
    ["--class", "best-effort", "--name", "train"],
    [...cotenantItself, "load", "--arrivals", "closed", ...forLong],
  );
  const stranger = run(["--class", "best-effort", "--ungated"], busy);
  const overQuota = run(
    ["--class", "best-effort", "--name", "greedy", "--memory", "512MiB"],
    [
      process.execPath,
      "--import",
      "tsx",
      fileURLToPath(new URL("./over-quota.ts", import.meta.url)),
    ],
  );
  await overQuota.said("refused");
  await Promise.all([high, ranked, training, stranger].map(({ said }) => said("load: serving")));
}

async function startPrometheus(metrics: { readonly address: string; readonly tokenFile: string }) {
  const folder = temporaryDirectory();
  const example = readFileSync(SCRAPE, "utf8");
  const config = example
    .replace("/etc/cotenant/metrics.token", metrics.tokenFile)
    .replace("127.0.0.1:9464", metrics.address)
    .replace("scrape_interval: 15s", "scrape_interval: 250ms");
  writeFileSync(`${folder}/prometheus.yml`, `global:\n  evaluation_interval: 1s\n${config}`);
  copyFileSync(RULES, `${folder}/cotenant.rules.yml`);
  const port = await freePort();
  const child = spawn(
    "prometheus",
    [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let said = "";
  child.stderr.on("data", (chunk) => (said += chunk));
  onTestFinished(() => void child.kill("SIGKILL"));
  const get = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    const body = (await answer.json()) as { status: string; data: never; error?: string };
    if (body.status !== "success") throw new Error(`${path}: ${body.error}`);
    return body.data;
  };
  await eventually("Prometheus is ready", async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus has ended: ${said}`);
    const ready = await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => undefined);
    return ready?.ok ?? false;
  });
  return {
    /** How many series answer. */
    ask: async (query: string) => {
      const data: { result: readonly unknown[] } = await get(
        `/api/v1/query?query=${encodeURIComponent(query)}`,
      );
      return data.result.length;
    },
    alerts: async () => {
      const data: { groups: readonly { rules: readonly Alert[] }[] } = await get("/api/v1/rules");
      return data.groups.flatMap(({ rules }) => rules);
    },
  };
}

interface Alert {
  readonly name: string;
  readonly query: string;
  readonly health: string;
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
