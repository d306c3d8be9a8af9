import { percent, progressOf, table, wallNow } from "#core";
import {
  type ClusterStatus,
  chartObjects,
  install,
  nodePartAdvice,
  nodePartOf,
  statusOf,
  uninstall,
  type Values,
  whyPod,
} from "#kubernetes";
import { askCluster } from "./asking.ts";
import type { Options } from "./options.ts";

export async function installInto(args: Options): Promise<number> {
  const values: Values = {
    image: args.image,
    gpu: args.gpu === "soft" ? "soft" : "auto",
    ...(args["runtime-class"] !== undefined && {
      node: { runtimeClassName: args["runtime-class"] },
    }),
    ...(args["image-pull-secret"].length > 0 && {
      imagePullSecrets: args["image-pull-secret"].map((name) => ({ name })),
    }),
  };
  if (args.print) {
    const items = chartObjects(values);
    console.log(JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 2));
    return 0;
  }
  const shown = progressOf("cluster");
  const nodePart = await askCluster(args, async (api) => {
    await install(api, values, args.wait / 1000, (what) => shown.step(what));
    return await nodePartOf(api);
  });
  shown.end();
  console.log("Cotenant is installed. cotenant cluster status shows what it does.");
  const advice = nodePartAdvice(nodePart);
  if (advice !== undefined) console.log(advice);
  return 0;
}

export async function uninstallFrom(args: Options): Promise<number> {
  const shown = progressOf("cluster");
  await askCluster(args, (api) => uninstall(api, args, (what) => shown.step(what)));
  shown.end();
  console.log("Cotenant is gone from the cluster.");
  return 0;
}

export async function showStatus(args: Options): Promise<number> {
  const status = await askCluster(args, (api) => statusOf(api, wallNow()));
  console.log(args.json ? JSON.stringify(status, null, 2) : textOf(status));
  return status.installed ? 0 : 1;
}

export async function showWhy(pod: string, args: Options): Promise<number> {
  const [first = "", second] = pod.split("/");
  const [namespace, name] = second === undefined ? [args.namespace, first] : [first, second];
  const said = await askCluster(args, (api) => whyPod(api, namespace, name));
  console.log(
    args.json ? JSON.stringify({ namespace, pod: name, said }, null, 2) : said.join("\n"),
  );
  return 0;
}

function textOf(status: ClusterStatus): string {
  if (!status.installed) return "Cotenant is not installed in this cluster.";
  const { gpus, pods, policy, waits, retained, nodePart, forecasts } = status;
  const rows = [
    [
      "manager",
      status.manager ??
        `none decides${status.silentSince ? `: the last one renewed its Lease at ${status.silentSince}` : ""}`,
    ],
    ["policy", policy.join(", ") || "pods are matched"],
    ...(nodePart === undefined
      ? []
      : [
          [
            "node part",
            `ready on ${nodePart.ready} of ${nodePart.nodes} nodes${nodePart.selector && ` with ${nodePart.selector}`}`,
          ],
        ]),
    [
      "GPUs",
      `${gpus.all} on ${gpus.nodes} nodes, ${gpus.served} with a service, ${gpus.shared} shared`,
    ],
    ["pods", `${pods.high} high; best-effort: ${pods.running} running, ${pods.waiting} waiting`],
    ...(retained
      ? [
          [
            "retained",
            `${percent(retained.measured)} measured, ${percent(retained.predicted)} predicted`,
          ],
        ]
      : []),
    ...forecasts.map((one) => ["forecasts", decidedBy(one)]),
  ];
  const advice = nodePartAdvice(nodePart);
  const lines = [
    ...(advice === undefined ? [] : [advice]),
    ...waits.map(({ reason, pods: count, message }) => `${count} wait, ${reason}: ${message}`),
  ];
  return [...table(rows, 2), ...(lines.length > 0 ? ["", ...lines] : [])].join("\n");
}

const deciders = {
  prior: "the turn bound",
  rule: "the rule of busy shares",
  model: "the model of workloads",
};

function decidedBy({ gpu, retained, slowdown }: ClusterStatus["forecasts"][number]): string {
  const of = ({ by, pairs }: typeof retained) => `by ${deciders[by]}, ${pairs} measured pairs`;
  const slowed =
    slowdown.by === "prior" ? `none yet, ${slowdown.pairs} measured pairs` : of(slowdown);
  return `${gpu}: retained ${of(retained)}; slowdown ${slowed}`;
}
