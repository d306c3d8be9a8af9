// Other webhooks add containers to best-effort pods, and pods name the claims of others.
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import { afterAll, describe, expect, test } from "vitest";
import { type Cluster, until } from "../cluster.ts";
import { installCotenant } from "../cotenant.ts";
import { clusterHere, whyNot } from "../here.ts";
import * as pods from "../pods.ts";
import { installWebhook, type Webhook } from "../webhook.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: tests of other webhooks, because ${why}`);

describe.skipIf(why !== undefined)("a best-effort pod", () => {
  let webhook: Webhook | undefined;
  let injector: Server | undefined;
  const cluster = clusterHere(async (started) => {
    await installCotenant(started);
    webhook = await installWebhook(started);
    injector = await startInjector(started);
  });
  afterAll(async () => {
    injector?.closeAllConnections();
    injector?.close();
    await webhook?.stop();
  });
  const tryPod = (pod: pods.Pod, namespace: string) =>
    cluster().kubectl(
      ["create", "--dry-run=server", "-n", namespace, "-f", "-", "-o", "json"],
      pods.asObject(pod),
    );
  const claimsOf = ({ spec }: pods.Pod) =>
    spec.containers.map(({ name, resources }) => [name, resources.claims?.length ?? 0]);

  // "cotenant" comes before one of these names and after the other.
  test.each([
    [
      "after",
      "z-injector",
      [
        ["main", 1],
        ["proxy", 0],
      ],
    ],
    [
      "before",
      "a-injector",
      [
        ["main", 1],
        ["proxy", 1],
      ],
    ],
  ])(
    "gets a container from a webhook that is called %s Cotenant's",
    async (order, name, expected) => {
      await addInjector(cluster(), injector, name, order);
      let made: pods.Pod | undefined;
      await until("the API server asks the other webhook", [], async () => {
        const { status, stdout, stderr } = await tryPod(pods.bestEffort(), order);
        expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
        made = JSON.parse(stdout);
        return made?.spec.containers.length === 2;
      });
      expect(made && claimsOf(made)).toEqual(expected);
      expect(made?.spec.schedulingGates).toEqual([{ name: "cotenant.io/match" }]);
      expect(made?.spec.resourceClaims).toHaveLength(1);
    },
  );

  test("may not name the claim of another pod, and neither may any other pod", async () => {
    const claim = { name: "mine", resourceClaimName: `cotenant-${"0".repeat(8)}-1-2-3-4` };
    for (const pod of [pods.bestEffort(), pods.plain()]) {
      pod.spec.resourceClaims = [claim];
      const { status, stderr } = await tryPod(pod, "default");
      expect(status).not.toBe(0);
      expect(stderr).toContain(`The pod ${pod.metadata.name} names a claim of another pod`);
    }
  });
});

/** A webhook that adds a container to each pod that has none of its name, as meshes do. */
function startInjector(cluster: Cluster): Promise<Server> {
  const { certificate, key } = cluster.serverCertificate("injector");
  const server = createServer(
    { cert: readFileSync(certificate), key: readFileSync(key) },
    async (asked, answer) => {
      const { request } = JSON.parse(Buffer.concat(await asked.toArray()).toString());
      const isThere = request.object.spec.containers.some(
        ({ name }: { name: string }) => name === "proxy",
      );
      const patch = isThere
        ? []
        : [{ op: "add", path: "/spec/containers/-", value: pods.container("proxy") }];
      answer.setHeader("content-type", "application/json");
      answer.end(
        JSON.stringify({
          ...{ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" },
          response: {
            ...{ uid: request.uid, allowed: true, patchType: "JSONPatch" },
            patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
          },
        }),
      );
    },
  );
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
}

/** It is asked about pods of a new namespace. */
async function addInjector(
  cluster: Cluster,
  server: Server | undefined,
  name: string,
  namespace: string,
): Promise<void> {
  const address = server?.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  await cluster.ask(["create", "namespace", namespace]);
  await cluster.ask([
    ...["wait", "--for=create", "--timeout=300s", "serviceaccount/default", "-n", namespace],
  ]);
  await cluster.ask(["create", "-f", "-"], {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name },
    webhooks: [
      {
        ...{ name: "proxy.example.org", admissionReviewVersions: ["v1"], sideEffects: "None" },
        clientConfig: {
          url: `https://127.0.0.1:${port}/`,
          caBundle: readFileSync(cluster.authority).toString("base64"),
        },
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
        rules: [
          { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] },
        ],
      },
    ],
  });
}
