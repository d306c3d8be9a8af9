// Access to the dashboard's HTTP: the page needs no token, data needs it, and pages of other sites get nothing.
import { request } from "node:http";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Snapshot } from "#dashboard";
import { startAgentHere } from "../agent/agent-here.ts";
import { eventually, HandClock } from "../agent/fakes.ts";

async function agentHere() {
  const clock = new HandClock();
  const agent = await startAgentHere({ clock });
  const { port, token } = agent.file;
  return { agent, clock, port, token };
}

/** With headers that fetch would not send. The answer's body is not waited for. */
function ask(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET",
) {
  return new Promise<{ status: number; headers: Readonly<Record<string, unknown>> }>(
    (resolve, reject) => {
      const question = request({ host: "127.0.0.1", port, path, method, headers, agent: false });
      question.on("response", (answer) => {
        onTestFinished(() => void answer.destroy());
        answer.on("error", () => {});
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers });
      });
      question.on("error", reject);
      question.end();
    },
  );
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const page = ["/dashboard", "/dashboard/page.js", "/dashboard/page.css"];

test("the page needs no token, and the data nothing less", async () => {
  const { port, token } = await agentHere();
  for (const path of page) expect((await ask(port, path)).status, path).toBe(200);
  for (const headers of [{}, bearer("wrong"), bearer(token.slice(1))])
    expect((await ask(port, "/dashboard/live", headers)).status).toBe(401);
  for (const path of [`/dashboard/live?token=${token}`, `/dashboard/live#${token}`])
    expect((await ask(port, path)).status).toBe(401);
  expect((await ask(port, "/dashboard/live", bearer(token))).status).toBe(200);
});

test("the page may load nothing from elsewhere, be framed by nobody, and is kept by no cache", async () => {
  const { port } = await agentHere();
  for (const path of page) {
    const { headers } = await ask(port, path);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    });
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  }
});

test("a Host that is not this machine is refused, even with the token, and no site may read an answer", async () => {
  const { port, token } = await agentHere();
  const paths = [...page, "/dashboard/live", "/status", "/why/1"];
  for (const path of paths)
    for (const host of ["attacker.example", `attacker.example:${port}`, "127.0.0.1.example"])
      expect((await ask(port, path, { ...bearer(token), host })).status, host).toBeGreaterThan(399);
  for (const host of ["localhost", `127.0.0.1:${port}`, "[::1]:4000", "LOCALHOST:1"])
    expect((await ask(port, "/status", { ...bearer(token), host })).status, host).toBe(200);
  for (const path of paths)
    for (const method of ["GET", "OPTIONS"]) {
      const origin = { origin: "http://attacker.example", "access-control-request-method": "GET" };
      const { headers } = await ask(port, path, { ...bearer(token), ...origin }, method);
      const allowed = Object.keys(headers).filter((name) => name.startsWith("access-control"));
      expect(allowed).toEqual([]);
    }
});

test("a stream begins with everything, and has a snapshot each second that agrees with the status", async () => {
  const { agent, clock, port, token } = await agentHere();
  const answer = await fetch(`http://127.0.0.1:${port}/dashboard/live`, { headers: bearer(token) });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  onTestFinished(() => reader?.cancel());
  let text = "";
  const events = () => [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name);
  const read = async (count: number) => {
    while (events().length < count || !text.endsWith("\n\n")) text += (await reader?.read())?.value;
  };
  await read(3);
  expect(events()).toEqual(["timeline", "worst", "snapshot"]);
  const [, json = ""] = /^event: snapshot\ndata: (.*)$/m.exec(text) ?? [];
  const { pid, gpus } = JSON.parse(json) as Snapshot;
  expect([pid, gpus]).toEqual([agent.status().agent.pid, []]);
  for (let i = 0; i < 5; i++) {
    clock.advance(1_000_000 as never);
    await read(4 + i);
  }
  expect(events().slice(3)).toEqual(
    [...Array(4).fill("snapshot"), "worst", "snapshot"].slice(0, 6),
  );
});

describe("streams", () => {
  test("are so many and no more, until one of them ends", async () => {
    const { port, token } = await agentHere();
    const streams = [];
    const open = () =>
      new Promise<{ status: number; end(): void }>((resolve) => {
        const question = request({
          ...{ host: "127.0.0.1", port, path: "/dashboard/live", agent: false },
          headers: bearer(token),
        });
        question.on("error", () => {});
        question.on("response", (answer) => {
          answer.resume();
          answer.on("error", () => {});
          resolve({ status: answer.statusCode ?? 0, end: () => question.destroy() });
        });
        question.end();
      });
    for (let i = 0; i < 16; i++) streams.push(await open());
    expect(streams.map(({ status }) => status)).toEqual(Array(16).fill(200));
    expect((await open()).status).toBe(503);
    streams[0]?.end();
    let status = 503;
    while (status === 503) status = (await open()).status;
    expect(status).toBe(200);
  });

  test("that nobody reads are dropped, and the agent goes on", async () => {
    const { agent, clock, port, token } = await agentHere();
    const idle = clock.pending;
    const lazy = connect(port, "127.0.0.1");
    onTestFinished(() => void lazy.destroy());
    let closed = false;
    lazy.on("close", () => {
      closed = true;
    });
    lazy.on("error", () => {});
    lazy.write(
      `GET /dashboard/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    await new Promise((resolve) => lazy.once("readable", resolve)); // it is open, and nothing is read
    lazy.pause();
    // The kernel buffers some megabytes for a reader, and a snapshot is a few hundred bytes.
    for (let i = 0; i < 100_000 && clock.pending > idle; i++) {
      for (let tick = 0; tick < 50; tick++) clock.advance(1_000_000 as never);
      await new Promise((resolve) => setImmediate(resolve));
    }
    lazy.resume();
    await eventually(() => closed);
    expect(agent.status().agent.pid).toBe(process.pid);
  });
});
