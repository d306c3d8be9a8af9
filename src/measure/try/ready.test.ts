import { rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder, UserError } from "#core";
import { isReady, isTaken, parseReady } from "./ready.ts";

test("a number is a port, an address with a scheme a URL, all else is text of the output", () => {
  expect(parseReady("8000")).toEqual({ kind: "port", host: "127.0.0.1", port: 8000 });
  expect(parseReady("box:8000")).toEqual({ kind: "port", host: "box", port: 8000 });
  expect(parseReady("http://box/ready").kind).toBe("url");
  expect(parseReady("Application startup: complete").kind).toBe("says");
  expect(() => parseReady("70000")).toThrow(UserError);
  expect(() => parseReady(" ")).toThrow(UserError);
});

test("a port is ready when it accepts, a URL when it answers well", async () => {
  let status = 503;
  const server = createServer((_, answer) => answer.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const [byPort, byUrl] = [`${port}`, `http://127.0.0.1:${port}/`].map(parseReady);
  if (!byPort || !byUrl) throw new Error("not parsed");
  expect([await isReady(byPort, ""), await isTaken(byPort)]).toEqual([true, true]);
  expect(await isReady(byUrl, "")).toBe(false);
  status = 200;
  expect(await isReady(byUrl, "")).toBe(true);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect([await isReady(byPort, ""), await isReady(byUrl, "")]).toEqual([false, false]);
});

test("text is looked for in the output, and nobody else can have said it", async () => {
  const folder = temporaryFolder("ready-test");
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const log = join(folder, "log");
  const ready = parseReady("startup complete");
  writeFileSync(log, "INFO: start");
  expect(await isReady(ready, log)).toBe(false);
  writeFileSync(log, "INFO: startup complete.");
  expect([await isReady(ready, log), await isTaken(ready)]).toEqual([true, false]);
});
