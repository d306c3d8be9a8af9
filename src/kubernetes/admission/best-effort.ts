// Changes a best-effort pod when it is created: it gets the scheduling gate that holds it until it is matched, the
// name of the claim that the match will make, and whether its memory may be parked. Requirements on such pods are in
// deploy/kubernetes/admission.yaml, which the API server evaluates itself.
import type { Field } from "#core";
import { CLAIM_IN_POD, claimNameOf, MATCH_GATE, MOVABLE_ANNOTATION } from "../labels/names.ts";
import type { Change, Review } from "./review.ts";

/**
 * The changes for a best-effort pod. A gate that the pod has is kept; a claim of Cotenant's is replaced, since nobody else
 * may choose its name. If containers name the claim already, they alone get it: so containers that another webhook adds after
 * the first call get no GPU. Throws a UserError for an object that is no pod.
 */
export function bestEffortChanges({ uid, object }: Review): readonly Change[] {
  const spec = object.at("spec");
  const annotations = object.at("metadata").at("annotations").or({});
  const containers = spec.at("containers").list();
  const isChosen = containers.some(namesClaim);
  const isKept = annotations.at(SAFE_TO_EVICT).value !== undefined;
  const isMovable = annotations.at(MOVABLE_ANNOTATION).value === "true";
  return [
    ...(isKept ? [] : [SCALES_DOWN]),
    {
      op: "add",
      path: "/spec/schedulingGates",
      value: withNamed(spec.at("schedulingGates"), { name: MATCH_GATE }),
    },
    {
      op: "add",
      path: "/spec/resourceClaims",
      value: withNamed(spec.at("resourceClaims"), {
        name: CLAIM_IN_POD,
        resourceClaimName: claimNameOf(uid),
      }),
    },
    ...containers.flatMap((container, i): readonly Change[] => {
      if (isChosen && !namesClaim(container)) return [];
      const resources = container.at("resources").or({});
      const given: Change = {
        op: "add",
        path: `/spec/containers/${i}/resources`,
        value: {
          ...resources.object(),
          claims: withNamed(resources.at("claims"), { name: CLAIM_IN_POD }),
        },
      };
      if (!isMovable) return [given];
      const value = withNamed(container.at("env"), { name: "COTENANT_MOVABLE", value: "1" });
      return [given, { op: "add", path: `/spec/containers/${i}/env`, value }];
    }),
  ];
}

/**
 * By this annotation the Cluster Autoscaler takes a node away from a pod, also one with local volumes:
 * https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#what-types-of-pods-can-prevent-ca-from-removing-a-node
 */
const SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict";
const SCALES_DOWN: Change = {
  op: "add",
  path: `/metadata/annotations/${SAFE_TO_EVICT.replace("/", "~1")}`,
  value: "true",
};

const namesClaim = (container: Field): boolean =>
  container
    .at("resources")
    .or({})
    .at("claims")
    .or([])
    .list()
    .some((one) => one.at("name").value === CLAIM_IN_POD);

/** A list of named objects with one more, in place of any that has its name. */
function withNamed<T extends { readonly name: string }>(list: Field, added: T): readonly unknown[] {
  const others = list
    .or([])
    .list()
    .filter((one) => one.at("name").value !== added.name);
  return [...others.map(({ value }) => value), added];
}
