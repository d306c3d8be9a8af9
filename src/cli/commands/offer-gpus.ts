import { machineRunDirectory } from "#client";
import { ms, usage } from "#core";
import { accessOf, connect, serveAsked } from "#kubernetes";
import { choice, command, duration, list, number, text } from "../program/command.ts";
import { metricsOptions } from "../program/metrics-options.ts";

const options = {
  server: text("URL", undefined, "the API server"),
  account: text(
    "DIR",
    "/var/run/secrets/kubernetes.io/serviceaccount",
    "a service account's token and the server's authority, as Kubernetes gives them to a container",
  ),
  node: text("NAME", undefined, "this node; by default what NODE_NAME says"),
  gpu: choice(
    ["auto", "soft"],
    "auto",
    "auto: GPUs come from NVIDIA's own specification; soft: containers get the agent's software GPU",
  ),
  slots: number("N", 2, "best-effort pods that may share a GPU", { min: 1, max: 16, whole: true }),
  grace: duration(
    "TIME",
    ms(30_000),
    "how long best-effort pods stay on a GPU that has lost its service, or is over its limit",
  ),
  grants: text(
    "FILE",
    "/run/cotenant/grants.json",
    "where the agent is told which pods may be what",
  ),
  kubelet: text("DIR", "/var/lib/kubelet", "kubelet's folder"),
  cdi: list(
    "DIR",
    "where CDI specifications are, and those for claims in the first; by default /run/cdi and /etc/cdi",
  ),
  nri: text(
    "SOCKET",
    "/var/run/nri/nri.sock",
    "of the container runtime's Node Resource Interface, by which high pods get the library",
  ),
  host: text(
    "DIR",
    "/opt/cotenant",
    "where the machine's folder /opt/cotenant is here: the libraries that containers load are put there",
  ),
  ...metricsOptions,
};

export const offerGpusCommand = command({
  name: "offer-gpus",
  summary: "offer this node's GPUs to best-effort pods of a Kubernetes cluster",
  options,
  async run(args) {
    const {
      KUBERNETES_SERVICE_HOST: host,
      KUBERNETES_SERVICE_PORT: port = "443",
      NODE_NAME,
    } = process.env;
    const url = args.server ?? (host && `https://${host}:${port}`);
    const node = args.node ?? NODE_NAME;
    if (url === undefined) throw usage("offer-gpus runs in a cluster, or needs --server.");
    if (node === undefined)
      throw usage("offer-gpus needs --node, or NODE_NAME in its environment.");
    const stop = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
    // gRPC is loaded by no other command.
    const { NodeMetrics, offerGpus } = await import("#kubernetes/node");
    const metrics = new NodeMetrics();
    const stopMetrics = await serveAsked(
      metrics,
      args["metrics-address"],
      args["metrics-token"],
      console.log,
    );
    await offerGpus(
      connect(accessOf(url, args.account), { throttled: () => metrics.throttled++ }),
      {
        metrics,
        node,
        gpu: args.gpu === "soft" ? "soft" : "nvidia",
        directory: machineRunDirectory(),
        grants: args.grants,
        kubelet: args.kubelet,
        cdi: args.cdi.length > 0 ? args.cdi : ["/run/cdi", "/etc/cdi"],
        nri: args.nri,
        host: args.host,
        policy: { slots: args.slots, graceMs: args.grace / 1000 },
      },
      stop.signal,
      console.log,
    );
    stopMetrics();
    return 0;
  },
});
