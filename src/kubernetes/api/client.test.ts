import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "./client.ts";

/** A server that closes each connection when its second request comes, as if it had been idle for too long. */
async function closingServer() {
  const folder = mkdtempSync(join(tmpdir(), "cotenant-client-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -days 1";
  execFileSync("openssl", [...words.split(" "), "-keyout", key, "-out", certificate], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const asked = new Map<Socket, number>();
  const server = createServer(
    { key: readFileSync(key), cert: readFileSync(certificate) },
    (request, response) => {
      const count = (asked.get(request.socket) ?? 0) + 1;
      asked.set(request.socket, count);
      if (count > 1) request.socket.destroy();
      else response.end(JSON.stringify({ path: request.url }));
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return {
    connections: () => asked.size,
    api: connect({
      ...{ server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, unchecked: true },
      token: () => undefined,
    }),
  };
}

test("a request on a connection that the server closes just then is sent again on another one", async () => {
  const { api, connections } = await closingServer();
  expect(await api.get("/api/a")).toEqual({ path: "/api/a" });
  expect(await api.get("/api/b")).toEqual({ path: "/api/b" });
  expect(connections()).toBe(2);
  await expect(api.create("/api/c", {})).rejects.toThrow();
});
