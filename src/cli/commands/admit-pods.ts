import { setTimeout as wait } from "node:timers/promises";
import { isFile, readGiven, showAddress, usage } from "#core";
import { accessOf, connect, serveAdmission } from "#kubernetes";
import { address, command, text } from "../program/command.ts";

const options = {
  listen: address("HOST:PORT", "where the API server reaches it; port 0: any free one"),
  certificate: text("FILE", undefined, "its certificate, PEM"),
  key: text("FILE", undefined, "the key of the certificate, PEM"),
  server: text("URL", undefined, "the API server, which is asked of what class a pod is"),
  account: text(
    "DIR",
    "/var/run/secrets/kubernetes.io/serviceaccount",
    "a service account's token and the server's authority, as Kubernetes gives them to a container",
  ),
};

export const admitPodsCommand = command({
  name: "admit-pods",
  summary: "answer a Kubernetes API server about new pods",
  options,
  async run({ listen, certificate, key, server: stated, account }) {
    if (listen === undefined || certificate === undefined || key === undefined)
      throw usage("admit-pods needs --listen, --certificate and --key.");
    const { host } = listen;
    const { KUBERNETES_SERVICE_HOST: inside, KUBERNETES_SERVICE_PORT: port = "443" } = process.env;
    const url = stated ?? (inside && `https://${inside}:${port}`);
    if (url === undefined) throw usage("admit-pods runs in a cluster, or needs --server.");
    const api = connect(accessOf(url, account));
    const stop = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
    const read = () => ({
      cert: readGiven(certificate, "certificate"),
      key: readGiven(key, "key"),
    });
    // The manager makes it when it comes.
    while (!isFile(certificate) || !isFile(key)) {
      console.log(`waits for ${certificate} and ${key}`);
      if (!(await pause(stop.signal))) return 0;
    }
    let tls = read();
    const server = await serveAdmission(listen, tls, api);
    console.log(`answers at https://${showAddress({ host, port: server.port })}`);
    while (await pause(stop.signal)) {
      try {
        const now = read();
        if (now.cert !== tls.cert) server.renew(now);
        tls = now;
      } catch (error) {
        console.error(`keeps its certificate: ${error instanceof Error ? error.message : error}`);
      }
    }
    await server.close();
    return 0;
  },
});

const LOOKS_EACH_MS = 5000;

const pause = (signal: AbortSignal): Promise<boolean> =>
  wait(LOOKS_EACH_MS, true, { signal }).catch(() => false);
