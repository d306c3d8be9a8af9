// The manager of a cluster: deploy/kubernetes/manager.yaml says what it may do.
import { setFlagsFromString } from "node:v8";
import { isFile, readGiven, showAddress, usage } from "#core";
import {
  accessOf,
  connect,
  keepCertified,
  ManagerMetrics,
  manage,
  predictorIn,
  serveMetrics,
} from "#kubernetes";
import { address, command, duration, flag, list, text } from "../program/command.ts";

const options = {
  server: text("URL", undefined, "the API server"),
  account: text(
    "DIR",
    "/var/run/secrets/kubernetes.io/serviceaccount",
    "a service account's token and the server's authority, as Kubernetes gives them to a container",
  ),
  interval: duration(
    "TIME",
    undefined,
    "how often waiting pods are matched; by default what the SharingPolicy says",
  ),
  "webhook-name": list(
    "NAME",
    "the webhook's certificate is made for this name or address, and the API server is told of it",
  ),
  "only-certificate": flag("no pods are matched: the webhook's certificate alone is seen to"),
  "metrics-address": address("HOST:PORT", "where Prometheus reads metrics; needs --metrics-token"),
  "metrics-token": text(
    "FILE",
    undefined,
    "the token of who may read metrics; without the file there are none",
  ),
  model: text(
    "FILE",
    undefined,
    "what predict train has learned: pods and services that name WorkloadProfiles are matched by it",
  ),
};

export const matchPodsCommand = command({
  name: "match-pods",
  summary: "match best-effort pods of a Kubernetes cluster with GPUs",
  options,
  async run({ server, account, interval, model, ...more }) {
    const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = process.env;
    const url = server ?? (host && `https://${host}:${port}`);
    if (url === undefined) throw usage("match-pods runs in a cluster, or needs --server.");
    const names = more["webhook-name"];
    if (more["only-certificate"] !== names.length > 0)
      throw usage("match-pods takes --only-certificate and --webhook-name together.");
    // V8 would let the heap grow to several times what is in use: with 20,000 pods the process had 575 MB, where 130 are used.
    setFlagsFromString("--heap-growing-percent=70");
    const stop = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
    const api = connect(accessOf(url, account));
    if (more["only-certificate"]) {
      await keepCertified(api, names, stop.signal, console.log);
      return 0;
    }
    // In a cluster it is a part of a ConfigMap that need not be there.
    const { predictor, problem } =
      model !== undefined && isFile(model)
        ? predictorIn(readGiven(model, "model"), model)
        : { predictor: undefined, problem: `there is no ${model ?? "model"}` };
    if (problem !== undefined) console.log(`pods are matched by the turn bound: ${problem}`);
    const intervalMs = interval === undefined ? undefined : interval / 1000;
    const metrics = new ManagerMetrics();
    const at = more["metrics-address"];
    const tokenFile = more["metrics-token"];
    if ((at === undefined) !== (tokenFile === undefined))
      throw usage("match-pods takes --metrics-address and --metrics-token together.");
    // In a cluster it is a part of a Secret that need not be there.
    const served =
      at !== undefined && tokenFile !== undefined && isFile(tokenFile)
        ? await serveMetrics(metrics, at, readGiven(tokenFile, "token").trim())
        : undefined;
    if (served !== undefined && at !== undefined)
      console.log(
        `metrics are at http://${showAddress({ host: at.host, port: served.port })}/metrics`,
      );
    await manage(api, { intervalMs, predictor, metrics }, stop.signal, console.log);
    served?.close();
    return 0;
  },
});
