// Objects that the authors of a controller publish with its Go module, as scripts/kubernetes-tools has copied them.
import { readdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { parseAllDocuments } from "yaml";
import { type Cluster, until } from "../cluster.ts";
import { type Program, programFolders } from "../programs.ts";

export interface Published {
  readonly kind: string;
  readonly metadata: { name: string; namespace?: string };
  // biome-ignore lint/suspicious/noExplicitAny: these are objects of every kind.
  [part: string]: any;
}

/** Whether tests with these controllers are wanted. Says so where they are skipped. */
export function isWanted(controller: string): boolean {
  const wanted = Boolean(process.env.COTENANT_CONTROLLERS);
  if (!wanted)
    console.error(`SKIPPED: tests with ${controller}, because COTENANT_CONTROLLERS is not set.`);
  return wanted;
}

/** Returns the folder of a module under test/kubernetes/modules. */
export function folderOf(module: string): string {
  const start = `/${module}-`;
  const folder = programFolders(false)
    .split(delimiter)
    .find((one) => one.includes(start));
  if (folder === undefined) throw new Error(`kubernetes-tools has not compiled ${module}.`);
  return folder;
}

/** The objects of a text in YAML. */
export const objectsIn = (text: string): readonly Published[] =>
  parseAllDocuments(text)
    .map((one) => one.toJS() as Published | null)
    .filter((one) => one !== null);

/** The objects of a file, or of all files of a folder that hold objects. */
export function published(module: string, path: string): readonly Published[] {
  const at = join(folderOf(module), path);
  const files = path.endsWith(".yaml") ? [at] : readdirSync(at).map((file) => join(at, file));
  return files
    .filter((file) => !file.endsWith("kustomization.yaml"))
    .flatMap((file) => objectsIn(readFileSync(file, "utf8")));
}

/** Returns the configuration of a controller that has the rights of these roles, and no others. */
export async function withRoles(
  cluster: Cluster,
  user: string,
  roles: readonly Published[],
): Promise<Readonly<Record<string, string>>> {
  for (const role of roles.filter(({ kind }) => kind === "ClusterRole")) {
    const { name } = role.metadata;
    await cluster.ask(["apply", "-f", "-"], role);
    await cluster.ask([
      "create",
      "clusterrolebinding",
      name,
      "--clusterrole",
      name,
      "--user",
      user,
    ]);
  }
  return { KUBECONFIG: cluster.kubeconfigOf(user, user) };
}

/** Resolves when the program says at this address that it is ready. */
export const isReady = (program: Program, health: string): Promise<void> =>
  until(`${program.name} is ready`, [program], () =>
    fetch(`http://${health}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
