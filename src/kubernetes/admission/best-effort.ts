// Requirements on such pods are in the chart's admission.yaml: the API server evaluates them.
import type { Field } from "#core";
import { CLAIM_IN_POD, claimNameOf, MATCH_GATE, MOVABLE_ANNOTATION } from "../labels/names.ts";
import type { Change, Review } from "./review.ts";

/** If containers name the claim, only they get it. Throws a UserError for anything but a pod. */
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

/** The Cluster Autoscaler takes a node away even from such a pod with local volumes (its FAQ). */
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

function withNamed<T extends { readonly name: string }>(list: Field, added: T): readonly unknown[] {
  const others = list
    .or([])
    .list()
    .filter((one) => one.at("name").value !== added.name);
  return [...others.map(({ value }) => value), added];
}
