// Pods of `cotenant load` on a machine, and whether this machine can run them.
import { join } from "node:path";
import { forbidden, missing } from "../../containers/possible.ts";
import type { Pod } from "../pods.ts";
import { hasHierarchies } from "./cgroups.ts";
import { IMAGE, machineFolders } from "./image.ts";

/** Why no container can run here; undefined where it can. */
export function whyNoMachines(): string | undefined {
  const why = [...missing(["runc", "nsenter"]), ...forbidden()];
  if (!hasHierarchies()) why.push("cgroup v1 is not mounted");
  return why.length > 0 ? why.join(", ") : undefined;
}

/** A copy of a pod with its first container alone, which runs `cotenant load` with these words as that user. */
export function loadPod(pod: Pod, uid: number, words: readonly string[]): object & Pod {
  const folders = machineFolders().map((folder, i) => ({ ...folder, name: `machine-${i}` }));
  const cotenant = [process.execPath, join("/cotenant", "bin/cotenant")];
  const container = {
    ...{ name: "main", image: IMAGE, imagePullPolicy: "Never" },
    resources: pod.spec.containers[0]?.resources ?? {},
    command: [...cotenant, "load", ...words, "--json"],
    securityContext: { runAsUser: uid, runAsGroup: uid },
    volumeMounts: folders.map(({ name, to }) => ({ name, mountPath: to, readOnly: true })),
  };
  return {
    metadata: pod.metadata,
    spec: {
      ...pod.spec,
      containers: [container],
      volumes: folders.map(({ name, from: path }) => ({ name, hostPath: { path } })),
      ...{ hostNetwork: true, automountServiceAccountToken: false, restartPolicy: "Never" },
    },
  };
}
