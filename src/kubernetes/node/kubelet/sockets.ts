import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import {
  type Client,
  credentials,
  Server,
  ServerCredentials,
  type ServiceClientConstructor,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { wallNow } from "#core";

/** kubelet is on the same machine: it answers at once, or it is not there. */
const ANSWER_WITHIN_MS = 5000;

export interface Served {
  close(): void;
}

export async function serveAt(
  path: string,
  services: readonly (readonly [ServiceClientConstructor, UntypedServiceImplementation])[],
): Promise<Served> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o750 });
  // A socket that a process left behind refuses to be bound again.
  rmSync(path, { force: true });
  const server = new Server();
  for (const [{ service }, handlers] of services) server.addService(service, handlers);
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
  chmodSync(path, 0o600);
  return {
    close() {
      server.forceShutdown();
      rmSync(path, { force: true });
    },
  };
}

/** Rejects when nobody listens at `path`, or when there is no answer in time. */
export function callAt<T>(
  path: string,
  service: ServiceClientConstructor,
  method: string,
  request: object,
): Promise<T> {
  const client = new service(`unix:${path}`, credentials.createInsecure()) as Client &
    Record<string, (...words: readonly unknown[]) => unknown>;
  const deadline = wallNow() + ANSWER_WITHIN_MS;
  return new Promise<T>((resolve, reject) => {
    client[method]?.(request, { deadline }, (error: Error | null, answer: T) =>
      error ? reject(error) : resolve(answer),
    );
  }).finally(() => client.close());
}
