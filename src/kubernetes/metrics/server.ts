import { timingSafeEqual } from "node:crypto";
import { createServer, type Server } from "node:http";
import { type Address, errors, isFile, readGiven, showAddress, usage } from "#core";

export interface Metrics {
  text(): string;
}

/** The token is a part of a Secret that need not be there: without it there are no metrics. */
export async function serveAsked(
  metrics: Metrics,
  at: Address | undefined,
  tokenFile: string | undefined,
  say: (line: string) => void,
): Promise<() => void> {
  if ((at === undefined) !== (tokenFile === undefined))
    throw usage("--metrics-address and --metrics-token are given together.");
  if (at === undefined || tokenFile === undefined || !isFile(tokenFile)) return () => {};
  const served = await serveMetrics(metrics, at, readGiven(tokenFile, "token").trim());
  say(`metrics are at http://${showAddress({ host: at.host, port: served.port })}/metrics`);
  return served.close;
}

function serveMetrics(
  metrics: Metrics,
  { host, port }: Address,
  token: string,
): Promise<{ readonly port: number; close(): void }> {
  const expected = Buffer.from(`Bearer ${token}`);
  const server: Server = createServer((request, response) => {
    const given = Buffer.from(request.headers.authorization ?? "");
    const isKnown = given.length === expected.length && timingSafeEqual(given, expected);
    const status = isKnown ? (request.url === "/metrics" ? 200 : 404) : 401;
    response.writeHead(status, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
    response.end(status === 200 ? metrics.text() : "");
  });
  return new Promise((resolve, reject) => {
    server.once("error", (error) => reject(errors.cannotListen(`${host}:${port}`, error)));
    server.listen(port, host, () => {
      const address = server.address();
      resolve({
        port: typeof address === "object" && address !== null ? address.port : port,
        close: () => void server.close(),
      });
    });
  });
}
