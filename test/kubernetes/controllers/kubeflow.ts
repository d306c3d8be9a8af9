// Kubeflow's training operator beside a cluster: its own program and kinds, compiled from its published Go module.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Cluster, freePort, until } from "../cluster.ts";
import { programFolders, startProgram } from "../programs.ts";
import { isReady, published, withRoles } from "./published.ts";

const SECRET = "training-operator-webhook-cert";

/** Tells the API server of PyTorchJobs, and starts the operator. Resolves when it is ready. */
export async function startKubeflow(cluster: Cluster): Promise<{ stop(): Promise<void> }> {
  const apply = (object: object) => cluster.ask(["apply", "--server-side", "-f", "-"], object);
  for (const kind of published("training", "manifests/base/crds/kubeflow.org_pytorchjobs.yaml"))
    await apply(kind);
  await cluster.ask(["wait", "--for=condition=Established", "--timeout=300s", "crd", "--all"]);
  const [port, health] = [await freePort(), `127.0.0.1:${await freePort()}`];
  await apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "kubeflow" } });
  const metadata = { name: SECRET, namespace: "kubeflow" };
  await apply({ apiVersion: "v1", kind: "Secret", metadata });
  // Its certificate names a service, and nothing here forwards the addresses of services: the API server goes on without
  // its validation.
  for (const object of published("training", "manifests/base/webhook/manifests.yaml")) {
    object.metadata.name = "validator.training-operator.kubeflow.org";
    for (const webhook of object.webhooks) {
      webhook.clientConfig = {
        url: `https://127.0.0.1:${port}${webhook.clientConfig.service.path}`,
      };
      webhook.failurePolicy = "Ignore";
    }
    await apply(object);
  }
  // It reads its certificate below /tmp/k8s-webhook-server and nowhere else, so it has that folder for itself.
  const folder = join(cluster.folder, "training-operator");
  const certificates = join(folder, "serving-certs");
  mkdirSync(certificates, { recursive: true });
  const script =
    'mkdir -p /tmp/k8s-webhook-server && mount --bind "$0" /tmp/k8s-webhook-server && exec training-operator.v1 "$@"';
  const roles = published("training", "manifests/base/rbac/role.yaml");
  const program = startProgram(
    programFolders(false),
    cluster.folder,
    "unshare",
    [
      ...["--user", "--map-root-user", "--mount", "sh", "-c", script, folder],
      ...["--metrics-bind-address=0", `--health-probe-bind-address=${health}`],
      ...[`--webhook-server-port=${port}`, "--enable-scheme=pytorchjob"],
    ],
    {
      env: await withRoles(cluster, "kubeflow", roles),
      log: "training-operator",
    },
  );
  // As the kubelet mounts the Secret that the operator fills.
  await until("the operator has made its certificate", [program], async () => {
    const secret = ["get", "secret", SECRET, "--namespace", "kubeflow", "-o", "json"];
    const { data = {} } = JSON.parse(await cluster.ask(secret));
    for (const [name, content] of Object.entries<string>(data))
      writeFileSync(join(certificates, name), Buffer.from(content, "base64"), { mode: 0o600 });
    return "tls.crt" in data;
  });
  await isReady(program, health);
  return { stop: () => program.kill() };
}
