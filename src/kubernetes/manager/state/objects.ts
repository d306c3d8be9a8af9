// Kubernetes' objects as far as the manager reads and writes them, with Kubernetes' names.
import type { Limits } from "#place";
import type { Choice, MeasuredPair, PairNames } from "../../labels/pair.ts";

import type { SlowdownSeconds } from "../../labels/slowdown.ts";

interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly ownerReferences?: readonly {
    readonly uid: string;
    readonly name?: string;
    readonly controller?: boolean;
  }[];
}

interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

/** One condition on labels or fields. */
export interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly Requirement[];
  readonly matchFields?: readonly Requirement[];
}

interface Resources {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

export interface Container {
  /** `Always` marks an init container that runs concurrently with the others. */
  readonly restartPolicy?: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly resources?: Resources;
  /** Hash of image, command and arguments, of a container whose own are not kept. */
  readonly program?: string;
}

export interface Pod {
  readonly metadata: Metadata;
  readonly spec: {
    readonly nodeName?: string;
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly tolerations?: readonly Toleration[];
    readonly affinity?: {
      readonly nodeAffinity?: {
        readonly requiredDuringSchedulingIgnoredDuringExecution?: {
          readonly nodeSelectorTerms: readonly NodeSelectorTerm[];
        };
      };
    };
    /** Names of the PersistentVolumeClaims of its volumes. */
    readonly volumeClaims?: readonly string[];
    readonly volumes?: readonly {
      readonly name: string;
      readonly persistentVolumeClaim?: { readonly claimName: string };
      readonly ephemeral?: object;
    }[];
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly resources?: Resources;
    readonly overhead?: Readonly<Record<string, string>>;
    /** Name of what makes a high pod again, such as its Deployment. */
    readonly workload?: string;
    /** It is the part of Cotenant on its node. */
    readonly isNodePart?: boolean;
    /** Its selectors, tolerations and affinity are too large to be kept. */
    readonly isTooLarge?: boolean;
    readonly priority?: number;
    /** undefined: Kubernetes' own. */
    readonly schedulerName?: string;
    readonly schedulingGates?: readonly { readonly name: string }[];
    readonly resourceClaims?: readonly {
      readonly name: string;
      readonly resourceClaimName?: string;
    }[];
  };
  readonly status: { readonly phase?: string; readonly conditions?: readonly Condition[] };
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export interface Namespace {
  readonly metadata: Metadata;
}

export interface Node {
  readonly metadata: Metadata;
  readonly spec: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly { key: string; value?: string; effect: string }[];
  };
  readonly status: {
    readonly conditions?: readonly Condition[];
    readonly allocatable?: Readonly<Record<string, string>>;
  };
}

export interface Claim {
  readonly metadata: Metadata;
  readonly spec: {
    readonly devices?: {
      readonly requests?: readonly { readonly exactly?: { readonly deviceClassName: string } }[];
    };
  };
  readonly status?: { readonly allocation?: object };
}

export interface PersistentVolumeClaim {
  readonly metadata: Metadata;
  readonly spec: { readonly volumeName?: string; readonly storageClassName?: string };
}

export interface PersistentVolume {
  readonly metadata: Metadata;
  readonly spec: {
    readonly nodeAffinity?: {
      readonly required?: { readonly nodeSelectorTerms: readonly NodeSelectorTerm[] };
    };
  };
}

export interface StorageClass {
  readonly metadata: Metadata;
  readonly volumeBindingMode?: string;
  readonly allowedTopologies?: readonly {
    readonly matchLabelExpressions?: readonly {
      readonly key: string;
      readonly values: readonly string[];
    }[];
  }[];
}

/** A node's GPUs as its agent observed them: deploy/kubernetes/manager.yaml has the schema. */
export interface GpuNode {
  readonly metadata: Metadata;
  readonly status?: { readonly observedAt: string; readonly gpus: readonly ObservedGpu[] };
}

export interface ObservedGpu {
  readonly uuid: string;
  readonly model: string;
  /** Whether new best-effort work may come. */
  readonly healthy: boolean;
  /** How many claims may share it. */
  readonly slots: number;
  /** Memory left beside the high pod, with what is reserved for it, before any claim. */
  readonly memoryBytes: number;
  /** The share of the time in which the high pod's bursts run. */
  readonly activeShare: number;
  /** The UID of the high pod that has it. */
  readonly podUid?: string;
  /** Why it is not healthy, as the end of "it is …". */
  readonly because?: string;
  /** Whether a process of the high pod is a client of the agent; unknown from an older node part. */
  readonly served?: boolean;
  /** Whether the high pod is starting; unknown from an older node part. */
  readonly starting?: boolean;
  /** The most memory that the high pod's processes have had; unknown from an older node part. */
  readonly serviceBytes?: number;
  /** GPU time that best-effort pods recovered there, s, each counted from 0; unknown from an older node part. */
  readonly recovered?: readonly {
    readonly podUid: string;
    readonly namespace: string;
    readonly gpuSeconds: number;
  }[];
  /** Seconds in which the high pod shared the GPU, by the step of its slowdown factor; unknown from an older node part. */
  readonly slowdownSeconds?: SlowdownSeconds;
}

/** A job's demand on a GPU, as the input of a predictor: deploy/kubernetes has the schema. */
export interface WorkloadProfile {
  readonly metadata: Metadata;
  readonly spec: {
    /** The model of the GPU on which it was measured. */
    readonly gpu: string;
    readonly metrics: Readonly<Record<string, number>>;
  };
}

/** A best-effort pod on a GPU beside a service. Its name is that of the pod's claim. */
export interface Pairing {
  readonly metadata: Metadata;
  readonly spec: PairingSpec;
  readonly status?: {
    /** By the node's agent, since the pod runs there. */
    readonly measured?: {
      readonly retained?: number;
      readonly slowdown?: number;
      /** RFC 3339. */
      readonly at?: string;
      /** Since the pair began; undefined from an older node part. */
      readonly pair?: MeasuredPair;
    };
  };
}

export interface PairingSpec {
  readonly pod: string;
  readonly service: string;
  readonly node: string;
  readonly gpu: string;
  /** SM share, 0 to 1. */
  readonly share: number;
  readonly predicted: Forecast;
  /** undefined from an older manager. */
  readonly names?: PairNames;
  /** How the GPU was chosen; undefined from an older manager. */
  readonly choice?: Choice;
}

/** The forecast of a best-effort pod on a GPU. */
export interface Forecast {
  /** Its retained throughput. */
  readonly retained: number;
  /** Slowdown factor of the service's requests, queueing included, 1 for none; undefined without a prediction. */
  readonly slowdown?: number;
  /** Its upper bound; undefined without one. */
  readonly slowdownHigh?: number;
  /**
   * `turns`: the turn bound; `profiles`: a predictor, from both profiles; `rule` and `model`: learned from this cluster's
   * pairs.
   */
  readonly from: "turns" | "profiles" | "rule" | "model";
  /** Pairs of workloads that a `rule` or `model` has learned from. */
  readonly pairs?: number;
  /**
   * The parts of `retained` before learned ratios correct it: beside requests, by the predictor; and while there are
   * none. undefined for `turns`.
   */
  readonly parts?: { readonly beside: number; readonly alone: number };
}

/** How GPUs are shared in this cluster: deploy/kubernetes has the schema and the defaults. */
export interface SharingPolicy {
  readonly metadata: Metadata;
  readonly spec?: Partial<PolicySpec>;
}

export interface PolicySpec extends Limits {
  readonly intervalSeconds: number;
  readonly podsPerGpu: number;
  readonly nodeSelector: LabelSelector;
  readonly namespaceSelector: LabelSelector;
  readonly paused: boolean;
  readonly dryRun: boolean;
  readonly drain: boolean;
  readonly serviceAgeSeconds: number;
  readonly besideSeveralGpus: boolean;
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly Requirement[];
}
