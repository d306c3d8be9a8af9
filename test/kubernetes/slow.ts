// A server before the API server that lets each answer wait, as an API server does whose machine or etcd is overloaded.
import { connect, createServer, type Socket } from "node:net";

export interface SlowServer {
  /** Its address: the certificate is the API server's, and is for this address too. */
  readonly url: string;
  /** From now on what the API server answers comes so much later. */
  delay(ms: number): void;
  stop(): Promise<void>;
}

/** `server`: the API server's address. */
export function startSlowServer(server: string): Promise<SlowServer> {
  const { hostname, port } = new URL(server);
  let delayMs = 0;
  const open = new Set<Socket>();
  const listener = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("close", () => open.delete(socket));
      socket.on("error", () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on("data", (data) => {
      setTimeout(() => client.write(data), delayMs);
    });
    upstream.on("close", () => {
      setTimeout(() => client.destroy(), delayMs);
    });
  });
  return new Promise((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(0, "127.0.0.1", () => {
      const address = listener.address();
      const at = typeof address === "object" && address !== null ? address.port : 0;
      resolve({
        url: `https://127.0.0.1:${at}`,
        delay(ms) {
          delayMs = ms;
        },
        stop: () =>
          new Promise((closed) => {
            for (const socket of open) socket.destroy();
            listener.close(() => closed());
          }),
      });
    });
  });
}
