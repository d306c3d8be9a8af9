// Only root can write the OCI configuration that a runtime keeps. What a container says about
// itself is not read.
import { readdirSync } from "node:fs";
import { readInput } from "#core";

const TASKS = "/run/containerd/io.containerd.runtime.v2.task";
const STORAGES = ["/run/containers/storage", "/var/lib/containers/storage"];
const MAX_BYTES = 2 ** 20;

export type Annotations = Readonly<Record<string, string>>;

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
    return []; // this runtime is not installed
  }
}

function annotationsIn(path: string): Annotations | undefined {
  try {
    const config: unknown = JSON.parse(readInput(path, MAX_BYTES).toString());
    const { annotations } = config as { readonly annotations?: unknown };
    const entries = Object.entries(typeof annotations === "object" ? (annotations ?? {}) : {});
    return Object.fromEntries(entries.filter(([, value]) => typeof value === "string"));
  } catch {
    return undefined; // no such container
  }
}
