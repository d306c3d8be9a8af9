// A high pod is never refused: a change that is not possible is a warning, and it runs unprotected.
import { clientEdits, objectiveEnvironment } from "#client";
import { type Field, SYSTEM_DIRECTORY } from "#core";
import { GPU_RESOURCE, OBJECTIVE_ANNOTATION } from "../labels/names.ts";
import { objectiveIn } from "../labels/objective.ts";
import type { Change, Review } from "./review.ts";

const LIBRARY_ON_NODES = "/opt/cotenant/lib/libcotenant.so";
const PRELOAD = "LD_PRELOAD";

const edits = clientEdits(SYSTEM_DIRECTORY, LIBRARY_ON_NODES);
const mounts = edits.folders.map((folder, n) => ({ ...folder, name: `cotenant-${n}` }));

export interface HighChanges {
  readonly changes: readonly Change[];
  readonly warnings: readonly string[];
}

/** Throws a UserError for an object that is no pod. */
export function highChanges({ object }: Review): HighChanges {
  const spec = object.at("spec");
  const volumes = spec.at("volumes").or([]);
  const { objective, problem } = objectiveIn(
    object.at("metadata").at("annotations").or({}).at(OBJECTIVE_ANNOTATION).value,
  );
  const stated = objective === undefined ? {} : objectiveEnvironment(objective, undefined);
  const changes: Change[] = [];
  const warnings = problem === undefined ? [] : [problem];
  let withGpu = 0;
  for (const list of ["containers", "initContainers"] as const)
    spec
      .at(list)
      .or([])
      .list()
      .forEach((container, i) => {
        if (!(GPU_RESOURCE in container.at("resources").or({}).at("limits").or({}).object()))
          return;
        withGpu += 1;
        const obstacle = obstacleIn(volumes, container);
        if (obstacle === undefined)
          changes.push(...containerChanges(container, `/spec/${list}/${i}`, stated));
        else
          warnings.push(
            `The container ${container.at("name").value} runs without Cotenant's library: ${obstacle}.`,
          );
      });
  if (withGpu === 0)
    warnings.push(
      spec.at("resourceClaims").missing
        ? `No container asks for ${GPU_RESOURCE}, so the pod runs without Cotenant's library.`
        : `No container asks for ${GPU_RESOURCE}. A container that has a GPU by a claim gets Cotenant's library from its node, if the container runtime there has a Node Resource Interface.`,
    );
  if (changes.length > 0)
    changes.unshift({
      op: "add",
      path: "/spec/volumes",
      value: [
        ...values(volumes),
        ...mounts.map(({ name, hostPath: path }) => ({
          name,
          hostPath: { path, type: "DirectoryOrCreate" },
        })),
      ],
    });
  return { changes, warnings };
}

/** Returns the end of a sentence: the API server would refuse the pod if it were changed. */
function obstacleIn(volumes: Field, container: Field): string | undefined {
  const volume = mounts.find(({ name }) => named(volumes, name));
  if (volume) return `the pod has a volume named ${volume.name} already`;
  const taken = container.at("volumeMounts").or([]).list();
  const mount = mounts.find(({ containerPath }) =>
    taken.some((one) => one.at("mountPath").value === containerPath),
  );
  if (mount) return `it mounts ${mount.containerPath} itself`;
  const preload = named(container.at("env").or([]), PRELOAD);
  if (preload && !preload.at("valueFrom").missing)
    return `its ${PRELOAD} comes from elsewhere; state it as a value`;
  return undefined;
}

function containerChanges(
  container: Field,
  path: string,
  stated: Readonly<Record<string, string>>,
): readonly Change[] {
  const given = container.at("env").or([]);
  const { [PRELOAD]: library, ...shared } = edits.environment;
  const others = named(given, PRELOAD)?.at("value").value;
  const own: Record<string, string> = {
    COTENANT_CLASS: "high",
    ...shared,
    ...stated,
    [PRELOAD]: others ? `${library}:${others}` : library,
  };
  const kept = given.list().filter((one) => !Object.hasOwn(own, one.at("name").text()));
  return [
    {
      op: "add",
      path: `${path}/env`,
      value: [
        ...kept.map(({ value }) => value),
        ...Object.entries(own).map(([name, value]) => ({ name, value })),
      ],
    },
    {
      op: "add",
      path: `${path}/volumeMounts`,
      value: [
        ...values(container.at("volumeMounts").or([])),
        ...mounts.map(({ name, containerPath: mountPath }) => ({
          name,
          mountPath,
          readOnly: true,
        })),
      ],
    },
  ];
}

const values = (list: Field): readonly unknown[] => list.list().map(({ value }) => value);

const named = (list: Field, name: string): Field | undefined =>
  list.list().find((one) => one.at("name").value === name);
