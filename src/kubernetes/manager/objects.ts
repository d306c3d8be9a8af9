// What the manager reads and writes of Kubernetes' objects, with Kubernetes' names.

interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly ownerReferences?: readonly { readonly uid: string; readonly controller?: boolean }[];
}

interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
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
          readonly nodeSelectorTerms: readonly { readonly matchFields?: readonly object[] }[];
        };
      };
    };
    readonly priority?: number;
    readonly schedulingGates?: readonly { readonly name: string }[];
    readonly resourceClaims?: readonly {
      readonly name: string;
      readonly resourceClaimName?: string;
    }[];
  };
  readonly status: { readonly phase?: string };
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
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
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

/** What a node's agent observed of its GPUs: deploy/kubernetes/manager.yaml has the schema. */
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
  /** What is left beside the high pod, before any claim. */
  readonly memoryBytes: number;
  /** The share of the time in which the high pod's bursts run. */
  readonly activeShare: number;
  /** The UID of the high pod that has it. */
  readonly podUid?: string;
}
