// Requests that Prometheus and a watcher of the agent's end may make, from where, and with which token.
import { chmodSync, lstatSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type AgentOptions, pathsIn, runningAgent } from "#agent";
import { startAgentHere } from "./agent-here.ts";
import { temporaryDirectory } from "./fakes.ts";

async function agentHere(change: Partial<AgentOptions> = {}) {
  const directory = change.directory ?? temporaryDirectory();
  const agent = await startAgentHere({
    directory,
    ...change,
  });
  const { address, tokenFile } = agent.status().agent.metrics;
  const ask = (path: string, token?: string, { at = address, method = "GET" } = {}) =>
    fetch(`http://${at}${path}`, {
      method,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
  const metricsToken = readFileSync(tokenFile, "utf8").trim();
  return { agent, directory, address, tokenFile, metricsToken, ask };
}

const elsewhere = { metricsAddress: { host: "127.0.0.2", port: 0 } };

test.each([{}, elsewhere])(
  "/healthz and /readyz want no token and tell nothing else (%j)",
  async (options) => {
    const { ask } = await agentHere(options);
    for (const path of ["/healthz", "/readyz"]) {
      const answer = await ask(path);
      expect([answer.status, await answer.text()]).toEqual([200, "ok\n"]);
    }
    expect((await ask("/healthz/")).status).toBe(401);
    expect((await ask("/healthz", undefined, { method: "POST" })).status).toBe(401);
  },
);

test("the token of metrics is good for metrics alone", async () => {
  const { agent, directory, metricsToken, ask } = await agentHere();
  expect((await ask("/metrics", metricsToken)).status).toBe(200);
  expect((await ask("/metrics", agent.file.token)).status).toBe(200);
  for (const path of ["/status", "/why/1", "/", "//metrics"])
    expect((await ask(path, metricsToken)).status).toBe(401);
  expect((await ask("/stop", metricsToken, { method: "POST" })).status).toBe(401);
  expect(runningAgent(directory)?.pid).toBe(process.pid);
});

test("the token of metrics outlives the agent, in a file of the owner's", async () => {
  const { agent, directory, metricsToken, tokenFile } = await agentHere();
  expect(tokenFile).toBe(pathsIn(directory).metricsToken);
  expect(lstatSync(tokenFile).mode & 0o777).toBe(0o600);
  await agent.stop("asked to");
  const next = await agentHere({ directory });
  expect(next.metricsToken).toBe(metricsToken);
  expect(next.agent.file.token).not.toBe(agent.file.token);
  expect((await next.ask("/metrics", metricsToken)).status).toBe(200);
});

describe("another address", () => {
  test("has metrics and nothing else, also for who has the agent's token", async () => {
    const { agent, directory, address, metricsToken, ask } = await agentHere(elsewhere);
    expect(address).toMatch(/^127\.0\.0\.2:\d+$/);
    expect((await ask("/metrics")).status).toBe(401);
    expect((await ask("/metrics", agent.file.token)).status).toBe(401);
    const page = await ask("/metrics", metricsToken);
    expect(page.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(await page.text()).toContain('cotenant_agent_info{mode="isolated"');
    for (const path of ["/status", "/why/1", "/"])
      expect((await ask(path, metricsToken)).status).toBe(404);
    for (const token of [metricsToken, agent.file.token])
      await ask("/stop", token, { method: "POST" });
    expect(runningAgent(directory)?.pid).toBe(process.pid);
    const loopback = { at: `127.0.0.1:${agent.file.port}` };
    expect((await ask("/status", agent.file.token, loopback)).status).toBe(200);
  });

  test("that is not of this machine is an error that names it, and the next start finds all free", async () => {
    const directory = temporaryDirectory();
    const metricsAddress = { host: "192.0.2.1", port: 9464 };
    await expect(agentHere({ directory, metricsAddress })).rejects.toThrow(
      "Metrics can't be served at 192.0.2.1:9464: address not available.",
    );
    await agentHere({ directory });
  });
});

describe("a file of the token", () => {
  const inFile = (text: string, mode: number) => {
    const metricsToken = `${temporaryDirectory()}/token`;
    writeFileSync(metricsToken, text);
    chmodSync(metricsToken, mode);
    return { metricsToken };
  };

  test("may be the operator's, also for a group to read", async () => {
    const options = inFile("operator-chose-this-one\n", 0o640);
    const { ask, tokenFile } = await agentHere(options);
    expect(tokenFile).toBe(options.metricsToken);
    expect((await ask("/metrics", "operator-chose-this-one")).status).toBe(200);
  });

  test.each([
    { why: "others may read it or write to it", text: "operator-chose-this-one", mode: 0o644 },
    { why: "others may read it or write to it", text: "operator-chose-this-one", mode: 0o660 },
    { why: "it holds no line of 16 or more letters and digits", text: "", mode: 0o600 },
    {
      why: "it holds no line of 16 or more letters and digits",
      text: "two words here now",
      mode: 0o600,
    },
  ])("with mode $mode and the text '$text' is not used: $why", async ({ why, text, mode }) => {
    const options = inFile(text, mode);
    await expect(agentHere(options)).rejects.toThrow(
      `The metrics token in ${options.metricsToken} is not used: ${why}.`,
    );
  });
});
