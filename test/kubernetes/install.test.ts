// Cotenant comes into a cluster by one command or by its chart, both make the same objects, and it leaves nothing behind.
import { X509Certificate } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { chartObjects } from "#kubernetes";
import { asAdministrator, startAgents } from "./agents.ts";
import { run, until } from "./cluster.ts";
import { cotenantCluster } from "./cotenant.ts";
import { clusterHere, whyNot } from "./here.ts";
import { type Manager, startManager } from "./manager.ts";
import { addNodes } from "./nodes.ts";
import * as pods from "./pods.ts";
import { environmentWith, programFolders } from "./programs.ts";
import { installWebhook, type Webhook } from "./webhook.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: tests of the installation, because ${why}`);

const GIB = 2 ** 30;

describe.skipIf(why !== undefined)("the installation", () => {
  let webhook: Webhook | undefined;
  let manager: Manager | undefined;
  let certificates: Manager | undefined;
  const cluster = clusterHere((started) => addNodes(started, ["a"], { gpus: 1 }));
  afterAll(async () => {
    await manager?.stop();
    await certificates?.stop();
    await webhook?.stop();
  });

  const read = async (...args: string[]) =>
    JSON.parse(await cluster().ask(["get", ...args, "-o", "json"]));
  /** Objects of the chart that are there. */
  const there = async () => {
    const found: string[] = [];
    for (const { apiVersion, kind, metadata } of chartObjects({})) {
      const group = apiVersion.includes("/") ? `.${apiVersion.split("/").reverse().join(".")}` : "";
      const inside = metadata.namespace ? ["-n", metadata.namespace] : [];
      const { status } = await cluster().kubectl([
        "get",
        `${kind}${group}`,
        metadata.name,
        ...inside,
      ]);
      if (status === 0) found.push(`${kind} ${metadata.name}`);
    }
    return found;
  };
  const helm = (...args: string[]) =>
    run(
      "helm",
      [...args, "--kubeconfig", cluster().kubeconfig, "--namespace", "cotenant-system"],
      environmentWith(programFolders(false)),
      "",
    );
  const CHART = "deploy/kubernetes/chart";

  test("by one command brings programs that run, a certificate that the API server trusts, and a status", async () => {
    expect((await cotenantCluster(cluster(), ["status"])).stdout).toBe(
      "Cotenant is not installed in this cluster.\n",
    );
    const { status, stderr } = await cotenantCluster(cluster(), [
      "install",
      "--image",
      "in/registry:1",
    ]);
    expect(stderr).toContain("Deployment cotenant-manager");
    expect(status).toBe(0);
    const deployment = await read("deployment", "cotenant-manager", "-n", "cotenant-system");
    const { containers } = deployment.spec.template.spec;
    expect(containers.map(({ image }: { image: string }) => image)).toEqual(["in/registry:1"]);
    // Again changes nothing.
    expect((await cotenantCluster(cluster(), ["install", "--image", "in/registry:1"])).status).toBe(
      0,
    );
    const again = await read("deployment", "cotenant-manager", "-n", "cotenant-system");
    expect(again.metadata.generation).toBe(deployment.metadata.generation);

    manager = await startManager(cluster());
    certificates = await startManager(
      cluster(),
      ["--only-certificate", "--webhook-name", "cotenant-webhook.cotenant-system.svc"],
      "cotenant-certificates",
    );
    const secret = async () =>
      cluster().kubectl([
        "get",
        "secret",
        "cotenant-webhook",
        "-n",
        "cotenant-system",
        "-o",
        "json",
      ]);
    await until("there is a certificate", [], async () => (await secret()).status === 0);
    const pem = Buffer.from(
      JSON.parse((await secret()).stdout).data["tls.crt"],
      "base64",
    ).toString();
    const { subjectAltName, validFrom } = new X509Certificate(pem);
    expect(subjectAltName).toBe("DNS:cotenant-webhook.cotenant-system.svc");
    // Whatever the clock said where it was made.
    expect(validFrom).toContain("2020");
    await until("the API server trusts it", [], async () => {
      const { items } = await read("mutatingwebhookconfigurations,validatingwebhookconfigurations");
      const webhooks = items.flatMap((one: { webhooks: object[] }) => one.webhooks);
      expect(webhooks).toHaveLength(4);
      return webhooks.every(
        ({ clientConfig }: { clientConfig: { caBundle?: string } }) =>
          Buffer.from(clientConfig.caBundle ?? "", "base64").toString() === pem,
      );
    });
    await until("a manager decides", [], async () => {
      const { stdout } = await cotenantCluster(cluster(), ["status", "--json"]);
      return JSON.parse(stdout).manager !== undefined;
    });
  });

  test("names a node whose agent does not run, and the last words of the agent", async () => {
    const ours = ["-n", "cotenant-system"];
    await cluster().ask(["create", "-f", "-"], {
      ...{ apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: { name: "nvidia" } },
      handler: "nvidia",
    });
    const install = (wait: string) =>
      cotenantCluster(cluster(), ["install", "--image", "in/registry:1", "--wait", wait]);
    expect((await install("0s")).status).toBe(0);
    await cluster().ask(["label", "node", "a", "nvidia.com/gpu.present=true"]);
    const pods = async () =>
      (await read("pods", ...ours, "-l", "app.kubernetes.io/component=node")).items;
    await until(
      "the node part runs",
      [],
      async () => (await pods())[0]?.status.phase === "Running",
    );
    const [{ metadata }] = await pods();
    const message = "libnvidia-ml.so.1 is not installed";
    const status = {
      conditions: [{ type: "Ready", status: "False" }],
      containerStatuses: [
        {
          ...{ name: "agent", image: "none", imageID: "", ready: false, restartCount: 3 },
          state: { waiting: { reason: "CrashLoopBackOff" } },
          lastState: { terminated: { exitCode: 1, message } },
        },
      ],
    };
    await cluster().ask([
      ...["patch", "pod", metadata.name, ...ours, "--subresource=status", "-p"],
      JSON.stringify({ status }),
    ]);
    const { stderr } = await install("3s");
    expect(stderr).toContain(message);
    expect(stderr).toContain("the container agent of the node a does not run");
    const part = await read("daemonset", "cotenant-node", ...ours);
    expect(part.spec.template.spec.runtimeClassName).toBe("nvidia");
    await cluster().ask(["label", "node", "a", "nvidia.com/gpu.present-"]);
    await cluster().ask(["delete", "runtimeclass", "nvidia"]);
  });

  test("keeps to the Pod Security level restricted, except in the node part", async () => {
    await cluster().ask(["create", "namespace", "strict"]);
    await cluster().ask([
      "label",
      "namespace",
      "strict",
      "pod-security.kubernetes.io/enforce=restricted",
    ]);
    const deployment = await read("deployment", "cotenant-manager", "-n", "cotenant-system");
    const { template } = deployment.spec;
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "manager", labels: template.metadata.labels },
      spec: { ...template.spec, serviceAccountName: "default" },
    };
    const { stderr, status } = await cluster().kubectl(
      ["create", "--dry-run=server", "-n", "strict", "-f", "-"],
      pod,
    );
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });

  test("is not removed while best-effort pods are there, and with --evict leaves nothing", async () => {
    webhook = await installWebhook(cluster());
    const agents = await startAgents(asAdministrator(cluster()), new Map([["a", ["GPU-a"]]]));
    await cluster().ask(["create", "-f", "-"], pods.asObject(pods.high()));
    await cluster().ask(["wait", "--for=condition=Ready", "--timeout=300s", "pod/serve"]);
    const { metadata } = await read("pod", "serve");
    await agents.observe("a", [
      {
        ...{ uuid: "GPU-a", model: "none", healthy: true, slots: 2, activeShare: 0.3 },
        ...{ memoryBytes: 25 * GIB, podUid: metadata.uid, serviceBytes: GIB },
      },
    ]);
    await cluster().ask(["create", "-f", "-"], pods.jobOf(pods.bestEffort(), "train", 4));
    await until("two run", [], async () => {
      const { stdout } = await cotenantCluster(cluster(), ["status", "--json"]);
      const said = JSON.parse(stdout).pods;
      return said.running === 2 && said.waiting === 2;
    });
    const refused = await cotenantCluster(cluster(), ["uninstall"]);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain("Best-effort pods are still there: default/train-");
    expect((await there()).length).toBe(chartObjects({}).length);
    agents.stop();
    const { status, stderr } = await cotenantCluster(cluster(), ["uninstall", "--evict"]);
    expect(stderr).not.toContain("not gone");
    expect(status).toBe(0);
    expect(await there()).toEqual([]);
    expect((await read("resourceclaims", "-A")).items).toEqual([]);
    const left = (await read("pods", "-A")).items.filter(
      ({ spec }: { spec: { schedulingGates?: object[] } }) => spec.schedulingGates,
    );
    expect(left).toEqual([]);
    expect(await cluster().ask(["api-resources", "-o", "name"])).not.toContain("cotenant.io");
    // The service has noticed nothing.
    expect((await read("pod", "serve")).metadata.uid).toBe(metadata.uid);
    await cluster().ask(["delete", "job", "train", "--wait=true"]);
  });

  test("by Helm makes the same objects as the command, is upgraded, and is removed", async () => {
    const template = await helm("template", "cotenant", CHART, "--set", "image=in/registry:1");
    expect(template.stderr).toBe("");
    const items = parseAllDocuments(template.stdout).map((one) => one.toJS());
    const named = ({ kind, metadata }: { kind: string; metadata: { name: string } }) =>
      `${kind} ${metadata.name}`;
    const ours = chartObjects({ image: "in/registry:1" }).filter(
      ({ kind }) => kind !== "Namespace",
    );
    const sorted = (all: readonly { kind: string; metadata: { name: string } }[]) =>
      [...all].sort((a, b) => named(a).localeCompare(named(b)));
    expect(sorted(items).map(named)).toEqual(sorted(ours).map(named));
    expect(sorted(items)).toMatchObject(sorted(ours));

    const wrong = await helm("install", "cotenant", CHART, "--set", "manager.replicas=many");
    expect(wrong.status).not.toBe(0);
    expect(wrong.stderr).toContain("replicas");
    const installed = await helm("install", "cotenant", CHART, "--create-namespace");
    expect(installed.stderr).not.toContain("Error");
    expect(installed.status).toBe(0);
    const upgraded = await helm(
      "upgrade",
      "cotenant",
      CHART,
      "--set",
      "manager.replicas=1",
      "--set",
      "imagePullSecrets[0].name=mine",
    );
    expect(upgraded.stderr).not.toContain("Error");
    const { spec } = await read("deployment", "cotenant-manager", "-n", "cotenant-system");
    expect(spec.replicas).toBe(1);
    expect(spec.template.spec.imagePullSecrets).toEqual([{ name: "mine" }]);
    const removed = await helm("uninstall", "cotenant", "--wait");
    expect(removed.status).toBe(0);
    await until("nothing of it is left but its namespace", [], async () => {
      return (await there()).join() === "Namespace cotenant-system";
    });
  });
});
