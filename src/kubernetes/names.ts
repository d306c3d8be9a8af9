// The names of Cotenant in Kubernetes' API. They are what users and operators write, so none of them changes.
// deploy/kubernetes has them too: what Kubernetes itself evaluates can't ask this file.

/** An annotation of a pod: `high` or `best-effort`. A pod without it is none of Cotenant's. */
export const CLASS_ANNOTATION = "cotenant.io/class";

/** An annotation of a high pod: objectives as `run --slo` takes them, separated by spaces. */
export const OBJECTIVE_ANNOTATION = "cotenant.io/objective";

/** Keeps a best-effort pod from the scheduler until it has been matched with a GPU. */
export const MATCH_GATE = "cotenant.io/match";

/** What a pod's own specification calls the claim for its part of a GPU. */
export const CLAIM_IN_POD = "cotenant";

/** The claim's name: from the UID of the AdmissionReview, because a pod that is admitted has neither UID nor, maybe, name. */
export const claimNameOf = (reviewUid: string): string => `cotenant-${reviewUid}`;
