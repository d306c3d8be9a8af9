import type { Limits } from "#place";
import type { ObservedClient } from "../../labels/demand.ts";
import type { BurstForecast, Choice, MeasuredPair, PairNames } from "../../labels/pair.ts";

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
  /** Hash of image, command and arguments, which are not kept. */
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
    readonly workload?: string;
    readonly isNodePart?: boolean;
    readonly isTooLarge?: boolean;
    readonly priority?: number;
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

export interface GpuNode {
  readonly metadata: Metadata;
  readonly status?: { readonly observedAt: string; readonly gpus: readonly ObservedGpu[] };
}

export interface ObservedGpu {
  readonly uuid: string;
  readonly model: string;
  readonly healthy: boolean;
  readonly slots: number;
  /** Memory left beside the high pod, with what is reserved for it, before any claim. */
  readonly memoryBytes: number;
  readonly activeShare: number;
  readonly podUid?: string;
  /** It is the end of "it is …". */
  readonly because?: string;
  /** A process of the high pod is a client. Older node parts lack this and all that is below. */
  readonly served?: boolean;
  readonly starting?: boolean;
  readonly serviceBytes?: number;
  /** They are in s, each counted from 0. */
  readonly recovered?: readonly {
    readonly podUid: string;
    readonly namespace: string;
    readonly gpuSeconds: number;
  }[];
  readonly slowdownSeconds?: SlowdownSeconds;
  readonly clients?: readonly ObservedClient[];
}

export interface WorkloadProfile {
  readonly metadata: Metadata;
  readonly spec: {
    readonly gpu: string;
    readonly metrics: Readonly<Record<string, number>>;
  };
}

/** Its name is that of the pod's claim. */
export interface Pairing {
  readonly metadata: Metadata;
  readonly spec: PairingSpec;
  readonly status?: {
    readonly measured?: {
      readonly retained?: number;
      readonly slowdown?: number;
      /** It is in RFC 3339. */
      readonly at?: string;
      readonly pair?: MeasuredPair;
    };
  };
}

export interface PairingSpec {
  readonly pod: string;
  readonly service: string;
  readonly node: string;
  readonly gpu: string;
  /** It is a part of the SMs, 0 to 1. */
  readonly share: number;
  readonly predicted: Forecast;
  /** undefined from an older manager, as is `choice`. */
  readonly names?: PairNames;
  readonly choice?: Choice;
}

export interface Forecast {
  readonly retained: number;
  /** Each bound is meant to hold in 90 % of pairs (decision 0053); undefined is not learned. */
  readonly retainedLow?: number;
  readonly retainedHigh?: number;
  /** It is a factor with queueing; 1 is none, undefined is not predicted. */
  readonly slowdown?: number;
  readonly slowdownHigh?: number;
  /** It is without queueing, as nodes measure it; undefined is not learned. */
  readonly bursts?: BurstForecast;
  /** `turns` is the turn bound; `profiles`, a predictor; `rule` and `model` learned from pairs. */
  readonly from: "turns" | "profiles" | "rule" | "model";
  readonly pairs?: number;
  /** They are the parts before learned ratios correct `retained`; undefined for `turns`. */
  readonly parts?: { readonly beside: number; readonly alone: number };
}

/** deploy/kubernetes has the schema and the defaults. */
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
