import { setFlagsFromString } from "node:v8";
import { isFile, readGiven, usage } from "#core";
import {
  accessOf,
  connect,
  keepCertified,
  ManagerMetrics,
  manage,
  predictorIn,
  serveAsked,
} from "#kubernetes";
import { command, duration, flag, list, text } from "../program/command.ts";
import { metricsOptions } from "../program/metrics-options.ts";

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
  ...metricsOptions,
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
    // V8 would let the heap grow to several times its use: 575 MB with 20,000 pods, 130 in use.
    setFlagsFromString("--heap-growing-percent=70");
    const stop = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
    const metrics = new ManagerMetrics();
    const api = connect(accessOf(url, account), { throttled: () => metrics.throttled++ });
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
    const stopMetrics = await serveAsked(
      metrics,
      more["metrics-address"],
      more["metrics-token"],
      console.log,
    );
    await manage(api, { intervalMs, predictor, metrics }, stop.signal, console.log);
    stopMetrics();
    return 0;
  },
});
