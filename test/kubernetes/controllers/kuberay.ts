// KubeRay beside a cluster: its own program and kinds, compiled from its published Go module.
import { type Cluster, freePort } from "../cluster.ts";
import { programFolders, startProgram } from "../programs.ts";
import { isReady, type Published, published, withRoles } from "./published.ts";

/** Tells the API server of KubeRay's kinds, and starts it. Resolves when it is ready. */
export async function startKuberay(cluster: Cluster): Promise<{ stop(): Promise<void> }> {
  for (const kind of published("kuberay", "config/crd/bases"))
    await cluster.ask(["apply", "--server-side", "-f", "-"], kind);
  await cluster.ask(["wait", "--for=condition=Established", "--timeout=300s", "crd", "--all"]);
  const health = `127.0.0.1:${await freePort()}`;
  const program = startProgram(
    programFolders(false),
    cluster.folder,
    "ray-operator",
    [
      ...["--metrics-addr=0", `--health-probe-bind-address=${health}`],
      "--enable-leader-election=false",
    ],
    { env: await withRoles(cluster, "kuberay", published("kuberay", "config/rbac/role.yaml")) },
  );
  await isReady(program, health);
  return { stop: () => program.kill() };
}

/** The first object of one of KubeRay's samples. */
export function sample(name: string): Published {
  const [first] = published("kuberay", `config/samples/${name}.yaml`);
  if (first === undefined) throw new Error(`${name}.yaml holds no object.`);
  return first;
}
