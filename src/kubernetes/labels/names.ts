// The names of Cotenant in Kubernetes' API. They are what users and operators write, so none of them changes.
// deploy/kubernetes has them too: what Kubernetes itself evaluates can't ask this file.

/** An annotation of a pod: `high` or `best-effort`. A pod without it is none of Cotenant's. */
export const CLASS_ANNOTATION = "cotenant.io/class";

/** Namespaces at whose pods Cotenant does not look: those with this label, and these. */
export const EXCLUDED_LABEL = "cotenant.io/excluded";
export const EXCLUDED_NAMESPACES: readonly string[] = [
  "kube-system",
  "kube-public",
  "kube-node-lease",
  "cotenant-system",
];

/** An annotation of a high pod: objectives as `run --slo` takes them, separated by spaces. */
export const OBJECTIVE_ANNOTATION = "cotenant.io/objective";

/** An annotation of a best-effort pod, and of its claim: the GPU memory that it may use, such as 20Gi. */
export const MEMORY_ANNOTATION = "cotenant.io/memory";

/** An annotation of a best-effort pod: `true` if its GPU memory may be parked, as `run --movable` has it. */
export const MOVABLE_ANNOTATION = "cotenant.io/movable";

/**
 * An annotation of a best-effort pod: the time of work that it loses when it is evicted, until its next pod has come as far,
 * such as 5min. A pod without it is never moved.
 */
export const MOVE_COST_ANNOTATION = "cotenant.io/move-cost";

/** An annotation of a pod: the WorkloadProfile of its namespace that says what it asks of a GPU. */
export const PROFILE_ANNOTATION = "cotenant.io/profile";

/** A condition of a best-effort pod that waited: whether it has been matched with a GPU, and why not. */
export const MATCHED_CONDITION = "cotenant.io/Matched";

/** The one SharingPolicy. */
export const POLICY = "default";

/** The resource by which a container asks for a whole GPU. */
export const GPU_RESOURCE = "nvidia.com/gpu";

/** Where Cotenant itself runs. */
export const SYSTEM_NAMESPACE = "cotenant-system";

/** The Lease there of the manager that decides. */
export const MANAGER_LEASE = "cotenant-manager";

/** Names of the webhook's configuration and of the Secret with its certificate. */
export const WEBHOOK_CONFIGURATION = "cotenant";
export const WEBHOOK_SECRET = "cotenant-webhook";

/** Keeps a best-effort pod from the scheduler until it has been matched with a GPU. */
export const MATCH_GATE = "cotenant.io/match";

/** Name of the claim for a part of a GPU in the pod's own specification. */
export const CLAIM_IN_POD = "cotenant";

/** The claim's name: from the UID of the AdmissionReview, because a pod that is admitted has neither UID nor, maybe, name. */
export const claimNameOf = (reviewUid: string): string => `cotenant-${reviewUid}`;

/** Annotations of a claim: which GPU it is for, on which node, and since when. */
export const GPU_ANNOTATION = "cotenant.io/gpu";
export const NODE_ANNOTATION = "cotenant.io/node";
export const MATCHED_AT_ANNOTATION = "cotenant.io/matched-at";
/** An annotation of a claim: how its GPU was chosen, as JSON (manager/learning/explore.ts). */
export const CHOICE_ANNOTATION = "cotenant.io/choice";

/** The class of devices that claims are for. */
export const DEVICE_CLASS = "cotenant.io";
/** The driver that publishes them. */
export const DRIVER = "gpu.cotenant.io";
