interface Involved {
  readonly kind: "Pod" | "Node";
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** `now` is in ms since 1970. */
function eventOn(
  { kind, name, namespace, uid }: Involved,
  component: string,
  { reason, message }: { readonly reason: string; readonly message: string },
  now: number,
): readonly [path: string, event: object] {
  const at = new Date(now).toISOString();
  return [
    `/api/v1/namespaces/${namespace}/events`,
    {
      apiVersion: "v1",
      kind: "Event",
      metadata: { generateName: `${name.slice(0, LONGEST_NAME)}-`, namespace },
      involvedObject: { apiVersion: "v1", kind, name, uid, ...(kind === "Pod" && { namespace }) },
      type: "Warning",
      ...{ reason, message: message.slice(0, LONGEST_MESSAGE) },
      source: { component },
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
    },
  ];
}

export const eventAbout = (
  {
    metadata: { namespace = "", name, uid },
  }: {
    readonly metadata: { readonly namespace?: string; readonly name: string; readonly uid: string };
  },
  reason: string,
  message: string,
  now: number,
) => eventOn({ kind: "Pod", namespace, name, uid }, "cotenant-manager", { reason, message }, now);

/** As kubelet's, these events are in the namespace `default` and take the name for the UID. */
export const eventAboutNode = (name: string, reason: string, message: string, now: number) =>
  eventOn(
    { kind: "Node", namespace: "default", name, uid: name },
    "cotenant-node",
    { reason, message },
    now,
  );

const LONGEST_NAME = 200;
const LONGEST_MESSAGE = 1024;
