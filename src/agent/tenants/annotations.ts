// The annotations that a container was made with, from the OCI configuration that its runtime keeps, where only root can
// write. What a container says about itself is never read.
import { readdirSync } from "node:fs";
import { readInput } from "#core";

/** Of containerd (one folder a namespace), Podman and CRI-O. */
const TASKS = "/run/containerd/io.containerd.runtime.v2.task";
const STORAGES = ["/run/containers/storage", "/var/lib/containers/storage"];
const MOST_BYTES = 2 ** 20;

export type Annotations = Readonly<Record<string, string>>;

/** None where no runtime that is known has such a container. */
export function annotationsOf(container: string, tasks = TASKS, storages = STORAGES): Annotations {
  const paths = [
    ...namesIn(tasks).map((namespace) => `${tasks}/${namespace}/${container}/config.json`),
    ...storages.map((at) => `${at}/overlay-containers/${container}/userdata/config.json`),
  ];
  for (const path of paths) {
    const found = annotationsIn(path);
    if (found) return found;
  }
  return {};
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // this runtime is not here
  }
}

function annotationsIn(path: string): Annotations | undefined {
  try {
    const config: unknown = JSON.parse(readInput(path, MOST_BYTES).toString());
    const { annotations } = config as { readonly annotations?: unknown };
    const entries = Object.entries(typeof annotations === "object" ? (annotations ?? {}) : {});
    return Object.fromEntries(entries.filter(([, value]) => typeof value === "string"));
  } catch {
    return undefined; // no such container
  }
}
