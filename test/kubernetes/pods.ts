// Pods with a class, and the controllers that make them.

export interface Container {
  name: string;
  restartPolicy?: string;
  image: string;
  resources: {
    limits?: Record<string, string>;
    requests?: Record<string, string>;
    claims?: { name: string }[];
  };
  env?: { name: string; value?: string; valueFrom?: object }[];
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean }[];
}

interface PodSpec {
  containers: Container[];
  initContainers?: Container[];
  resources?: { limits: Record<string, string> };
  priorityClassName?: string;
  schedulingGates?: { name: string }[];
  resourceClaims?: { name: string; resourceClaimName: string }[];
  volumes?: {
    name: string;
    hostPath?: { path: string };
    persistentVolumeClaim?: { claimName: string };
  }[];
  nodeName?: string;
  restartPolicy?: string;
  terminationGracePeriodSeconds?: number;
  nodeSelector?: Record<string, string>;
  affinity?: object;
}

export interface Pod {
  metadata: {
    name: string;
    annotations?: Record<string, string>;
    labels?: Record<string, string>;
    ownerReferences?: object[];
  };
  spec: PodSpec;
}

const limits = { cpu: "1", memory: "1Gi" };

export const container = (name: string): Container => ({
  name,
  image: "none",
  resources: { limits },
});

/** A valid best-effort pod; a copy for each caller. */
export const bestEffort = (): Pod => ({
  metadata: {
    name: "train",
    annotations: { "cotenant.io/class": "best-effort", "cotenant.io/memory": "10Gi" },
    // Only a pod that a controller made has it; the tests of refusals never create theirs.
    ownerReferences: [
      {
        apiVersion: "batch/v1",
        kind: "Job",
        name: "train",
        uid: "3f0a4b52-7b0c-4a57-9d4c-64a3a1e4d7d5",
        controller: true,
      },
    ],
  },
  spec: { containers: [container("main")], priorityClassName: "cotenant-best-effort" },
});

/** A pod that nobody has reported Cotenant. */
export const plain = (): Pod => ({
  metadata: { name: "plain" },
  spec: { containers: [{ name: "main", image: "none", resources: {} }] },
});

/** A service that has a GPU, and a container that has none. */
export const high = (): Pod => ({
  metadata: {
    name: "serve",
    // It states its memory, so others may come beside it as soon as it runs.
    annotations: {
      "cotenant.io/class": "high",
      "cotenant.io/objective": "slowdown=10%",
      "cotenant.io/memory": "1Gi",
    },
  },
  spec: {
    containers: [
      { name: "main", image: "none", resources: { limits: { "nvidia.com/gpu": "1" } } },
      { name: "logs", image: "none", resources: {} },
    ],
  },
});

/** As kubectl reads it. */
export const asObject = ({ metadata, spec }: Pod) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata,
  spec,
});

const templateOf = ({ metadata: { annotations }, spec }: Pod, name: string) => ({
  metadata: { annotations, labels: { app: name } },
  spec,
});

/** A Job whose one pod is like this. */
export const jobOf = (pod: Pod, name: string, completions = 1) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name },
  spec: {
    completions,
    parallelism: completions,
    template: templateOf({ ...pod, spec: { ...pod.spec, restartPolicy: "Never" } }, name),
  },
});

/** A Deployment, a StatefulSet or a DaemonSet of such pods. */
export const controllerOf = (kind: string, pod: Pod, name: string) => ({
  apiVersion: "apps/v1",
  kind,
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: templateOf(pod, name),
    ...(kind === "StatefulSet" && { serviceName: name }),
  },
});
