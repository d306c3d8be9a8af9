import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { AgentFile } from "#agent";
import { askStatus } from "./ask.ts";

/** An agent without CPU time: it answers no question until it is let. */
async function startStarved() {
  const waiting: ServerResponse[] = [];
  const answer = () => waiting.splice(0).map((one) => one.end('{"gpus":[]}'));
  let answers = false;
  const server = createServer((_, response) => {
    waiting.push(response);
    if (answers) answer();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((listening) => server.once("listening", listening));
  const { port } = server.address() as AddressInfo;
  const agent = { pid: 7, port, token: "t" } as AgentFile;
  const letAnswer = () => {
    answers = true;
    answer();
  };
  return { agent, letAnswer };
}

test("a late status is waited for as long as the caller says", async () => {
  const { agent, letAnswer } = await startStarved();
  const patient = askStatus(agent, 600_000);
  await expect(askStatus(agent, 10)).rejects.toThrow("not within 0.01 s");
  letAnswer();
  expect(await patient).toEqual({ gpus: [] });
});
