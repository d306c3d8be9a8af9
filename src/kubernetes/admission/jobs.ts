// Without this, a Job whose pods are evicted a few times has failed for good.
import type { Field } from "#core";
import type { Change, Review } from "./review.ts";

const DISRUPTED = "DisruptionTarget";
/** Kubernetes allows a policy of failures only for pods that are not restarted in place. */
const RESTARTS = "OnFailure";

/** Throws a UserError for an object that is no Job. */
export function jobChanges({ object }: Review): {
  readonly changes: readonly Change[];
  readonly warnings: readonly string[];
} {
  const spec = object.at("spec");
  const name =
    object.at("metadata").at("name").value ?? object.at("metadata").at("generateName").value;
  if (spec.at("template").at("spec").at("restartPolicy").value === RESTARTS)
    return {
      changes: [],
      warnings: [
        `The Job ${name} has restartPolicy ${RESTARTS}, so Kubernetes counts evictions of its pods as failures: set restartPolicy to Never, and evictions do not count.`,
      ],
    };
  const rules = spec.at("podFailurePolicy").or({}).at("rules").or([]);
  if (rules.list().some(isAboutDisruptions)) return { changes: [], warnings: [] };
  const value = [
    // The first rule that fits counts: a program that ends at SIGTERM has an exit code, too.
    { action: "Ignore", onPodConditions: [{ type: DISRUPTED, status: "True" }] },
    ...rules.list().map((rule) => rule.value),
  ];
  return {
    changes: [
      { op: "add", path: "/spec/podFailurePolicy", value: { rules: value } },
      // Kubernetes allows no other with such a policy, and has set its default already.
      { op: "add", path: "/spec/podReplacementPolicy", value: "Failed" },
    ],
    warnings: [],
  };
}

const isAboutDisruptions = (rule: Field): boolean =>
  rule
    .at("onPodConditions")
    .or([])
    .list()
    .some((one) => one.at("type").value === DISRUPTED);
