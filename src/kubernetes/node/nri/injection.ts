// Where pods may mount folders, the webhook adds the same. Here the pod's specification stays as it
// is, so any namespace may have it, and libraries that the image preloads are kept.
import type { ClientEdits } from "#client";
import { objectiveEnvironment } from "#client";
import { OBJECTIVE_ANNOTATION } from "../../labels/names.ts";
import { objectiveIn } from "../../labels/objective.ts";
import type { Adjustment, Container, Mount, Sandbox } from "./wire.ts";

const PRELOAD = "LD_PRELOAD";
const READ_ONLY = ["rbind", "nosuid", "nodev", "ro"];

const mountsAll = ({ mounts }: Pick<Container, "mounts">, { folders }: ClientEdits): boolean =>
  folders.every(({ hostPath, containerPath }) =>
    mounts.some(({ destination, source }) => destination === containerPath && source === hostPath),
  );

const preloads = ({ env }: Pick<Container, "env">, { environment }: ClientEdits): boolean =>
  (lastOf(env, PRELOAD) ?? "").split(/[ :]/).includes(environment[PRELOAD] ?? "");

export const hasLibrary = (
  container: Pick<Container, "mounts" | "env">,
  edits: ClientEdits,
): boolean => mountsAll(container, edits) && preloads(container, edits);

/** Returns the end of a sentence; undefined: the container has no such reason. */
export const preloadProblem = (
  container: Pick<Container, "mounts" | "env">,
  edits: ClientEdits,
): string | undefined =>
  mountsAll(container, edits) && !preloads(container, edits)
    ? `its own ${PRELOAD} replaces the one that names the library`
    : undefined;

export function obstacleIn(
  { env, mounts }: Container,
  { folders }: ClientEdits,
  { env: wanted }: Adjustment,
): string | undefined {
  const taken = folders.find(({ containerPath }) =>
    mounts.some(({ destination }) => destination === containerPath),
  );
  if (taken) return `it mounts ${taken.containerPath} itself`;
  // containerd has both then, and a change of the variable is lost to the second.
  const twice = wanted.find(({ key }) => env.filter((one) => one.startsWith(`${key}=`)).length > 1);
  return (
    twice &&
    `its image and its pod both set ${twice.key}, and the container runtime lets nobody change that: leave it to one of them`
  );
}

export function adjustmentOf(
  { annotations }: Sandbox,
  { env }: Container,
  { environment, folders }: ClientEdits,
): Adjustment {
  const { objective } = objectiveIn(annotations[OBJECTIVE_ANNOTATION]);
  const { [PRELOAD]: library, ...shared } = environment;
  const others = lastOf(env, PRELOAD);
  const own = {
    COTENANT_CLASS: "high",
    ...shared,
    ...(objective === undefined ? {} : objectiveEnvironment(objective, undefined)),
    [PRELOAD]: others ? `${library}:${others}` : library,
  };
  return {
    // A variable is taken back first: the container would not start if another plugin has set it.
    env: Object.entries(own).flatMap(([key, value]) => [
      { key: `-${key}`, value: "" },
      { key, value },
    ]),
    mounts: folders.map(
      ({ hostPath, containerPath }): Mount => ({
        ...{ destination: containerPath, source: hostPath, type: "bind", options: READ_ONLY },
      }),
    ),
  };
}

/** The last of several counts, as with any program's environment in a container. */
const lastOf = (env: readonly string[], name: string): string | undefined =>
  env.findLast((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
