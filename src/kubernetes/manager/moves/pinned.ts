// A pod is released to one node by the node's name in each term of its required affinity.
import type { NodeSelectorTerm, Pod, Requirement } from "../state/objects.ts";

type Affinity = NonNullable<Pod["spec"]["affinity"]>;

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

const nameIs = (node: string): Requirement => ({
  key: "metadata.name",
  operator: "In",
  values: [node],
});

export function affinityOn({ spec: { affinity } }: Pod, node: string): Affinity {
  const given = affinity?.nodeAffinity?.[REQUIRED]?.nodeSelectorTerms ?? [{}];
  const nodeSelectorTerms = given.map((term) => ({
    ...term,
    matchFields: [...(term.matchFields ?? []), nameIs(node)],
  }));
  return {
    ...affinity,
    nodeAffinity: { ...affinity?.nodeAffinity, [REQUIRED]: { nodeSelectorTerms } },
  };
}

const known = new WeakMap<Pod, Pod>();

/** A released pod as it was before, and as its controller will make it again. */
export function unpinned(pod: Pod, node: string): Pod {
  let before = known.get(pod);
  if (before === undefined) {
    before = withoutNode(pod, node);
    known.set(pod, before);
  }
  return before;
}

function withoutNode(pod: Pod, node: string): Pod {
  const { affinity, ...spec } = pod.spec;
  const required = affinity?.nodeAffinity?.[REQUIRED];
  if (!required) return pod;
  const terms = required.nodeSelectorTerms.map((term) => withoutName(term, node));
  const { [REQUIRED]: _, ...others } = affinity?.nodeAffinity ?? {};
  // A term without any condition was not there before: it would hold nowhere.
  const isFree = terms.every((term) => Object.keys(term).length === 0);
  const nodeAffinity = isFree ? others : { ...others, [REQUIRED]: { nodeSelectorTerms: terms } };
  return { ...pod, spec: { ...spec, affinity: { ...affinity, nodeAffinity } } };
}

function withoutName(
  { matchFields = [], ...term }: NodeSelectorTerm,
  node: string,
): NodeSelectorTerm {
  const last = matchFields.at(-1);
  const isOurs =
    last?.key === "metadata.name" && last.operator === "In" && last.values?.join() === node;
  const left = isOurs ? matchFields.slice(0, -1) : matchFields;
  return { ...term, ...(left.length > 0 && { matchFields: left }) };
}
