// Somebody who has taken over a part of Cotenant can't do more with its rights than that part does.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, accessOf, connect } from "#kubernetes";
import { until } from "../cluster.ts";
import { installCotenant } from "../cotenant.ts";
import { clusterHere, whyNot } from "../here.ts";
import { accountOf } from "../manager.ts";
import { addNodes } from "../nodes.ts";
import * as pods from "../pods.ts";
import { installWebhook, type Webhook } from "../webhook.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: tests of rights, because ${why}`);

interface Operation {
  readonly op: "add" | "replace";
  readonly path: string;
  readonly value: unknown;
}

describe.skipIf(why !== undefined)("with the rights of the manager", () => {
  let webhook: Webhook | undefined;
  const cluster = clusterHere(async (started) => {
    await addNodes(started, ["a"], { gpus: 1 });
    await installCotenant(started);
    webhook = await installWebhook(started);
  });
  afterAll(() => webhook?.stop());
  let api: Api;
  const asManager = (args: readonly string[], input?: unknown) =>
    cluster().kubectl(
      [...args, "--as=system:serviceaccount:cotenant-system:cotenant-manager"],
      input,
    );
  const evict = (namespace: string, name: string) => {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
    return asManager(["create", "--raw", path, "-f", "-"], {
      ...{ apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } },
    });
  };
  const image: Operation = { op: "replace", path: "/spec/containers/0/image", value: "evil" };
  const DEFAULT = "/api/v1/namespaces/default/pods";
  let train = "";

  beforeAll(async () => {
    const privileged = pods.plain();
    privileged.metadata.name = "privileged";
    await cluster().ask(["create", "-n", "kube-system", "-f", "-"], pods.asObject(privileged));
    await cluster().ask(["create", "-f", "-"], pods.jobOf(pods.bestEffort(), "train"));
    const there = () => cluster().ask(["get", "pods", "-l", "app=train", "-o", "name"]);
    await until("the Job has its pod", [], async () => (await there()) !== "");
    train = (await there()).trim().replace("pod/", "");
    // kubectl would read a pod before it changes it, which the manager's rights do not allow.
    api = connect(accessOf(cluster().server, await accountOf(cluster(), "cotenant-manager")));
    await until("the policies are in force", [], async () => {
      const tried = api.patch(`${DEFAULT}/${train}?dryRun=All`, [image]);
      return tried.then(() => false).catch(() => true);
    });
  });

  const metadata = (path: string, value: unknown): Operation => ({
    op: "add",
    path: `/metadata/${path}`,
    value,
  });
  const alone = "Cotenant's manager changes best-effort pods alone.";
  const nothingElse = "sets its affinity, and changes nothing else of it.";
  const noMetadata = "changes no labels, annotations, finalizers or owners of pods.";
  test.each<readonly [string, string, readonly Operation[], string]>([
    [
      "the image of a pod of the system",
      "/api/v1/namespaces/kube-system/pods/privileged",
      [image],
      alone,
    ],
    ["the image of a best-effort pod", "", [image], nothingElse],
    ["a label", "", [metadata("labels/team", "evil")], noMetadata],
    ["a finalizer", "", [metadata("finalizers/-", "example.org/keep")], noMetadata],
    [
      "the phase of a pod",
      "/status",
      [{ op: "replace", path: "/status/phase", value: "Failed" }],
      "changes nothing else of its status.",
    ],
    [
      "the webhook's configuration",
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/cotenant",
      [{ op: "replace", path: "/webhooks/0/matchConditions", value: [] }],
      "cannot patch resource",
    ],
  ])("nobody changes %s", async (_, where, operations, sentence) => {
    const path = where.startsWith("/ap") ? where : `${DEFAULT}/${train}${where}`;
    await expect(api.patch(path, operations)).rejects.toThrow(sentence);
  });

  test("nobody deletes or makes claims of another driver", async () => {
    const claim = {
      ...{ apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: { name: "other" } },
      spec: {
        devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu.nvidia.com" } }] },
      },
    };
    const sentence = "makes and deletes claims of the device class cotenant.io alone.";
    expect((await asManager(["create", "-f", "-"], claim)).stderr).toContain(sentence);
    await cluster().ask(["create", "-f", "-"], claim);
    expect((await asManager(["delete", "resourceclaim", "other"])).stderr).toContain(sentence);
    await cluster().ask(["delete", "resourceclaim", "other"]);
  });

  test("nobody evicts other than best-effort pods", async () => {
    const { status, stderr } = await evict("kube-system", "privileged");
    expect(status).not.toBe(0);
    expect(stderr).toContain(
      "Cotenant's manager evicts best-effort pods alone, and kube-system/privileged is none.",
    );
    const allowed = await evict("default", train);
    expect(allowed.stderr).toBe("");
  });

  test("the webhook's own rights are to read pods", async () => {
    const user = "--as=system:serviceaccount:cotenant-system:cotenant-webhook";
    const can = async (...what: string[]) =>
      (await cluster().kubectl(["auth", "can-i", ...what, "-A", user])).stdout.trim();
    expect(await can("get", "pods")).toBe("yes");
    expect([await can("patch", "pods"), await can("get", "secrets")]).toEqual(["no", "no"]);
  });
});
