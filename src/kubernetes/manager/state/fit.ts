// Places of other pods are left to the scheduler: a match that it refuses is given up.
import type { Node, NodeSelectorTerm, Pod, Requirement } from "./objects.ts";

/** Returns the end of "the node …"; undefined if the pod may run there. */
export function obstacleOn({ spec }: Pod, node: Node): string | undefined {
  const { nodeSelector = {}, affinity } = spec;
  const labels = node.metadata.labels ?? {};
  if (!Object.entries(nodeSelector).every(([key, value]) => labels[key] === value))
    return "does not have the labels of its nodeSelector";
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required && !required.nodeSelectorTerms.some((term) => holdsOn(term, node)))
    return "is not one of its required node affinity";
  const taint = repelling(spec, node);
  return taint && `has the taint ${taint.key}, which it does not tolerate`;
}

function repelling({ tolerations = [] }: Pod["spec"], { spec }: Node) {
  return (spec.taints ?? [])
    .filter(({ effect }) => effect !== "PreferNoSchedule")
    .find(
      (taint) =>
        !tolerations.some(
          ({ key, operator, value, effect }) =>
            (!effect || effect === taint.effect) &&
            (!key || key === taint.key) &&
            (operator === "Exists" || (value ?? "") === (taint.value ?? "")),
        ),
    );
}

/** A term without any condition holds nowhere. */
export function holdsOn(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  node: Node,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const { labels = {}, name } = node.metadata;
  return (
    matchExpressions.every((one) => meets(one, labels)) &&
    matchFields.every((one) => meets(one, { "metadata.name": name }))
  );
}

export function meets(
  { key, operator, values = [] }: Requirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return Number.parseInt(value ?? "", 10) > Number(values[0]);
    case "Lt":
      return Number.parseInt(value ?? "", 10) < Number(values[0]);
    default:
      return false;
  }
}
