// Objects of Kubernetes and of Cotenant that tests on machines read, by kubectl's name of the kind.

/** A pod. */
export interface Listed {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly spec: {
    readonly resourceClaims?: readonly { readonly resourceClaimName: string }[];
    readonly containers: readonly { readonly env?: readonly { readonly name: string }[] }[];
  };
  readonly status: {
    readonly containerStatuses?: readonly {
      readonly restartCount: number;
      readonly state: { readonly running?: object };
    }[];
  };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message: string;
}

interface ResourceSlice {
  readonly spec: {
    readonly devices: readonly {
      readonly taints?: readonly { readonly key: string; readonly value?: string }[];
    }[];
  };
}

interface Pairing {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly share: number; readonly predicted: { readonly retained: number } };
  readonly status?: { readonly measured?: { readonly retained?: number } };
}

interface List<T> {
  readonly items: readonly T[];
}

export interface Kinds {
  readonly pod: Listed;
  readonly pods: List<Listed>;
  readonly node: {
    readonly status: {
      readonly allocatable: Readonly<Record<string, string>>;
      readonly conditions: readonly Condition[];
    };
  };
  readonly gpunode: {
    readonly status?: {
      readonly gpus: readonly { readonly podUid?: string }[];
      readonly conditions: readonly Condition[];
    };
  };
  readonly resourceslices: List<ResourceSlice>;
  readonly resourceclaim: object;
  readonly pairings: List<Pairing>;
  readonly events: List<{ readonly message: string }>;
}
