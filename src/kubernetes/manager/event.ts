// Events, which `kubectl describe pod` shows.
import type { Pod } from "./objects.ts";

/** Where an event about a pod is created, and the event. `now`: ms since 1970. */
export function eventAbout(
  { metadata: { namespace = "", name, uid } }: Pod,
  reason: string,
  message: string,
  now: number,
): readonly [path: string, event: object] {
  const at = new Date(now).toISOString();
  return [
    `/api/v1/namespaces/${namespace}/events`,
    {
      apiVersion: "v1",
      kind: "Event",
      metadata: { generateName: `${name.slice(0, LONGEST_NAME)}-`, namespace },
      involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
      type: "Warning",
      reason,
      message,
      source: { component: "cotenant-manager" },
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
    },
  ];
}

/** Of a name from which another is generated. */
const LONGEST_NAME = 200;
