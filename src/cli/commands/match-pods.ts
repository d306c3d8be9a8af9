// The manager of a cluster: deploy/kubernetes/manager.yaml says what it may do.
import { ms, usage } from "#core";
import { accessOf, connect, manage } from "#kubernetes";
import { command, duration, text } from "../command.ts";

const options = {
  server: text("URL", undefined, "the API server"),
  account: text(
    "DIR",
    "/var/run/secrets/kubernetes.io/serviceaccount",
    "a service account's token and the server's authority, as Kubernetes gives them to a container",
  ),
  interval: duration("TIME", ms(5000), "how often waiting pods are matched"),
};

export const matchPodsCommand = command({
  name: "match-pods",
  summary: "match best-effort pods of a Kubernetes cluster with GPUs",
  options,
  internal: true,
  async run({ server, account, interval }) {
    const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = process.env;
    const url = server ?? (host && `https://${host}:${port}`);
    if (url === undefined) throw usage("match-pods runs in a cluster, or needs --server.");
    const stop = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
    await manage(connect(accessOf(url, account)), interval / 1000, stop.signal, console.log);
    return 0;
  },
});
