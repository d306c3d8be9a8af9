// Pods of `cotenant load` on a machine, and whether this machine can run them.
import { join } from "node:path";
import { forbidden, missing } from "../../containers/possible.ts";
import type { Pod } from "../pods.ts";
import { hasHierarchies } from "./cgroups.ts";
import { IMAGE, machineFolders, PACKAGE } from "./image.ts";

/** Why no container can run here; undefined where it can. */
export function whyNoMachines(): string | undefined {
  const why = [...missing(["runc", "nsenter"]), ...forbidden()];
  if (!hasHierarchies()) why.push("cgroup v1 is not mounted");
  return why.length > 0 ? why.join(", ") : undefined;
}

/** Where pods find a folder of the real machine that they may write. */
export const KEPT = "/kept";

/**
 * A copy of a pod with its first container alone, which runs `cotenant load` with these words as that user. `kept`: a folder
 * of the real machine that it may write, at KEPT.
 */
export const loadPod = (
  pod: Pod,
  uid: number,
  words: readonly string[],
  kept?: string,
): object & Pod =>
  podWith(pod, uid, [join(PACKAGE, "bin/cotenant"), "load", ...words, "--json"], kept);

/**
 * The same, but it runs a training that writes checkpoints and begins where the last one is, which is in the folder
 * `kept` of the real machine.
 */
export function trainerPod(pod: Pod, uid: number, kept: string): object & Pod {
  const program = join(PACKAGE, "test/kubernetes/machines/trainer.ts");
  return podWith(pod, uid, ["--import", "tsx", program, join(KEPT, "checkpoint")], kept);
}

/** `words`: for Node. `kept`: a folder of the real machine that the pod may write. */
function podWith(pod: Pod, uid: number, words: readonly string[], kept?: string): object & Pod {
  const folders = machineFolders().map(({ from, to }) => ({ from, to, readOnly: true }));
  if (kept !== undefined) folders.push({ from: kept, to: KEPT, readOnly: false });
  const named = folders.map((folder, i) => ({ ...folder, name: `machine-${i}` }));
  const container = {
    ...{ name: "main", image: IMAGE, imagePullPolicy: "Never", workingDir: PACKAGE },
    resources: pod.spec.containers[0]?.resources ?? {},
    command: [process.execPath, ...words],
    securityContext: { runAsUser: uid, runAsGroup: uid },
    volumeMounts: named.map(({ name, to, readOnly }) => ({ name, mountPath: to, readOnly })),
  };
  return {
    metadata: pod.metadata,
    spec: {
      ...pod.spec,
      containers: [container],
      volumes: named.map(({ name, from: path }) => ({ name, hostPath: { path } })),
      ...{ hostNetwork: true, automountServiceAccountToken: false, restartPolicy: "Never" },
    },
  };
}
