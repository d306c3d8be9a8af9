import type { Named } from "../../api/watched.ts";

export interface NodePod {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly containers: readonly NodeContainer[];
    /** These are kept among the containers. */
    readonly initContainers?: readonly NodeContainer[];
    readonly resourceClaims?: readonly ClaimInPod[];
  };
  readonly status: {
    readonly phase?: string;
    readonly resourceClaimStatuses?: readonly ClaimInPod[];
    /** The scheduler made the claim for what containers ask for by the name of a resource. */
    readonly extendedResourceClaimStatus?: {
      readonly resourceClaimName: string;
      readonly requestMappings: readonly {
        readonly containerName: string;
        readonly requestName: string;
      }[];
    };
  };
}

interface ClaimInPod {
  readonly name: string;
  readonly resourceClaimName?: string;
}

interface NodeContainer {
  readonly name: string;
  readonly resources?: {
    readonly limits?: Readonly<Record<string, string>>;
    readonly claims?: readonly { readonly name: string; readonly request?: string }[];
  };
}

export interface NodePairing extends Named {
  readonly spec: { readonly gpu: string; readonly share: number };
}

interface Allocated {
  readonly request: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly adminAccess?: boolean;
  readonly shareID?: string;
  readonly consumedCapacity?: Readonly<Record<string, string>>;
}

export interface AllocatedClaim {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid: string };
  readonly status?: {
    readonly allocation?: { readonly devices?: { readonly results?: readonly Allocated[] } };
    readonly reservedFor?: readonly {
      readonly resource: string;
      readonly name: string;
      readonly uid: string;
    }[];
  };
}

export interface DeviceTaint {
  readonly key: string;
  readonly value: string;
  readonly effect: "NoSchedule" | "NoExecute";
  readonly timeAdded: string;
}

export interface ResourceSlice {
  readonly metadata: { readonly name: string; readonly uid?: string };
  readonly spec: {
    readonly pool: { readonly name: string; readonly generation: number };
    readonly devices?: readonly {
      readonly name: string;
      readonly allowMultipleAllocations?: boolean;
      readonly taints?: readonly DeviceTaint[];
    }[];
  };
}

export interface PublishedGpuNode {
  readonly status?: {
    readonly gpus: readonly {
      readonly uuid: string;
      readonly podUid?: string;
      readonly serviceBytes?: number;
    }[];
  };
}
