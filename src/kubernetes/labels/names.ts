// Users and operators write these names, so none of them changes. deploy/kubernetes has them too.

/** The annotation is `high` or `best-effort`. A pod without it is none of Cotenant's. */
export const CLASS_ANNOTATION = "cotenant.io/class";

/** Pods of namespaces with this label, and of these namespaces, are none of Cotenant's. */
export const EXCLUDED_LABEL = "cotenant.io/excluded";
export const EXCLUDED_NAMESPACES: readonly string[] = [
  "kube-system",
  "kube-public",
  "kube-node-lease",
  "cotenant-system",
];

/** An annotation of a high pod has objectives as `run --slo` takes them, separated by spaces. */
export const OBJECTIVE_ANNOTATION = "cotenant.io/objective";

/** It states the GPU memory that a best-effort pod may use, such as 20Gi; a claim has it, too. */
export const MEMORY_ANNOTATION = "cotenant.io/memory";

export const MOVABLE_ANNOTATION = "cotenant.io/movable";

/** It states the work that an eviction loses, such as 5min. A pod without it is never moved. */
export const MOVE_COST_ANNOTATION = "cotenant.io/move-cost";

export const PROFILE_ANNOTATION = "cotenant.io/profile";

export const MATCHED_CONDITION = "cotenant.io/Matched";

export const POLICY = "default";

export const GPU_RESOURCE = "nvidia.com/gpu";

export const SYSTEM_NAMESPACE = "cotenant-system";

export const MANAGER_LEASE = "cotenant-manager";

export const WEBHOOK_CONFIGURATION = "cotenant";
export const WEBHOOK_SECRET = "cotenant-webhook";

/** Keeps a best-effort pod from the scheduler until it has been matched with a GPU. */
export const MATCH_GATE = "cotenant.io/match";

export const CLAIM_IN_POD = "cotenant";

/** An admitted pod has no UID yet, maybe no name: so the UID is that of the AdmissionReview. */
export const claimNameOf = (reviewUid: string): string => `cotenant-${reviewUid}`;

export const GPU_ANNOTATION = "cotenant.io/gpu";
export const NODE_ANNOTATION = "cotenant.io/node";
export const MATCHED_AT_ANNOTATION = "cotenant.io/matched-at";
/** An annotation of a claim says how its GPU was chosen, as JSON (manager/learning/explore.ts). */
export const CHOICE_ANNOTATION = "cotenant.io/choice";

export const DEVICE_CLASS = "cotenant.io";
export const DRIVER = "gpu.cotenant.io";
