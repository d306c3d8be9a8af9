// Resources that pods take from their nodes, by the rules of the scheduler:
// https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers.

import { quantity } from "../../api/quantity.ts";
import type { Container, Node, Pod } from "./objects.ts";

/** The key is a resource: cpu is in cores, memory in bytes, pods and devices are counts. */
export type Amounts = ReadonlyMap<string, number>;

const known = new WeakMap<Pod, Amounts>();

export function requestsOf(pod: Pod): Amounts {
  const before = known.get(pod);
  if (before) return before;
  const { containers = [], initContainers = [], resources, overhead = {} } = pod.spec;
  const running = sum(containers.map(amountsOf));
  const sidecars = new Map<string, number>();
  let most: Amounts = running;
  for (const container of initContainers) {
    const own = amountsOf(container);
    // One that goes on running adds to all that come after it.
    if (container.restartPolicy === "Always") for (const [name, n] of own) add(sidecars, name, n);
    else most = largest(most, sum([own, sidecars]));
  }
  const whole = new Map(largest(most, sum([running, sidecars])));
  for (const [name, text] of Object.entries(resources?.requests ?? {}))
    whole.set(name, quantity(text));
  for (const [name, text] of Object.entries(overhead)) add(whole, name, quantity(text));
  whole.set("pods", 1);
  known.set(pod, whole);
  return whole;
}

export function freeOn(
  nodes: Iterable<Node>,
  pods: Iterable<Pod>,
): Map<string, Map<string, number>> {
  const free = new Map<string, Map<string, number>>();
  for (const { metadata, status } of nodes)
    free.set(
      metadata.name,
      new Map(
        Object.entries(status.allocatable ?? {}).map(([name, text]) => [name, quantity(text)]),
      ),
    );
  for (const pod of pods) {
    const here = free.get(pod.spec.nodeName ?? "");
    if (here && isAlive(pod)) take(here, requestsOf(pod));
  }
  return free;
}

const isAlive = ({ status: { phase } }: Pod): boolean =>
  phase !== "Succeeded" && phase !== "Failed";

export function take(free: Map<string, number>, amounts: Amounts): void {
  for (const [name, n] of amounts) add(free, name, -n);
}

/** Sums of decimal fractions are not exact. */
const ROUNDING = 1e-9;

/** undefined if all fits. A node that says nothing of a resource has none. */
export function shortageOf(
  free: ReadonlyMap<string, number>,
  amounts: Amounts,
): string | undefined {
  for (const [name, n] of amounts)
    if (n > 0 && n > (free.get(name) ?? 0) * (1 + ROUNDING)) return name;
  return undefined;
}

const amountsOf = ({ resources = {} }: Container): Amounts =>
  new Map(
    Object.entries({ ...resources.limits, ...resources.requests }).map(([name, text]) => [
      name,
      quantity(text),
    ]),
  );

function sum(all: readonly Amounts[]): Amounts {
  const total = new Map<string, number>();
  for (const one of all) for (const [name, n] of one) add(total, name, n);
  return total;
}

const largest = (one: Amounts, other: Amounts): Amounts =>
  new Map(
    [...one, ...other].map(([name]) => [name, Math.max(one.get(name) ?? 0, other.get(name) ?? 0)]),
  );

function add(to: Map<string, number>, name: string, n: number): void {
  to.set(name, (to.get(name) ?? 0) + n);
}
