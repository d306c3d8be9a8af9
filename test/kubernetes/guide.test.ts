// The guide's examples are objects that a cluster with Cotenant takes, and they do what the guide says.
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { until } from "./cluster.ts";
import { installCotenant } from "./cotenant.ts";
import { clusterHere, whyNot } from "./here.ts";
import { addNodes } from "./nodes.ts";
import { installWebhook, type Webhook } from "./webhook.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: examples of the guide, because ${why}`);

const pages = ["docs/guide/kubernetes.md", "docs/guide/reference/kubernetes.md"];
const text = pages.map((page) => readFileSync(page, "utf8")).join("\n");
const examples = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => ({
  text,
  kind: parse(text).kind as string,
  name: parse(text).metadata.name as string,
}));

describe.skipIf(why !== undefined)("the guide's", () => {
  let webhook: Webhook | undefined;
  const cluster = clusterHere(async (started) => {
    await addNodes(started, ["a"], { gpus: 3 });
    await installCotenant(started);
    webhook = await installWebhook(started);
  });
  afterAll(async () => webhook?.stop());

  test("pages have an example of each object that a user writes", () => {
    expect(examples.map(({ kind }) => kind)).toEqual([
      "Deployment",
      "Job",
      "Deployment",
      "Job",
      "SharingPolicy",
      "WorkloadProfile",
    ]);
  });

  test.each(examples)(
    "$kind $name is taken by the API server without a warning",
    async ({ text }) => {
      const { status, stderr } = await cluster().kubectl(["create", "-f", "-"], text);
      expect(stderr).toBe("");
      expect(status).toBe(0);
    },
  );

  test("service runs as ever, and the job's pod waits with the gate", async () => {
    await cluster().ask([
      "wait",
      "--for=condition=Available",
      "--timeout=300s",
      "deployment/ranker",
    ]);
    const pods = async () =>
      JSON.parse(await cluster().ask(["get", "pods", "-l", "job-name=tune", "-o", "json"])).items;
    await until("the job has its pod", [], async () => (await pods()).length === 1);
    const [{ spec }] = await pods();
    expect(spec.schedulingGates).toEqual([{ name: "cotenant.io/match" }]);
  });
});
