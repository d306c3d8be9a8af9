// Edits that make a container a client, for container runtimes: the Container Device Interface,
// https://github.com/cncf-tags/container-device-interface.
import { realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import { type GpuKind, pathsIn } from "#agent";
import {
  type AssemblerStandIn,
  assemblerStandIns,
  interposer,
  SYSTEM_DIRECTORY,
  softGpuFolder,
} from "#core";
import type { ClientClass } from "#protocol";

/** Where a container finds what is mounted into it, whatever the machine's own paths are. */
const inside = {
  library: "/opt/cotenant/lib",
  agent: pathsIn(SYSTEM_DIRECTORY).shared,
  softGpu: "/opt/cotenant/softgpu",
  /** Memory of the software GPU, which all of its processes share. */
  softGpuMemory: "/opt/cotenant/softgpu-memory",
} as const;

const clientClasses: readonly ClientClass[] = ["high", "best-effort"];

interface Mount {
  readonly hostPath: string;
  readonly containerPath: string;
  readonly options: readonly string[];
}

/** Edits for every container of a client. */
export interface ClientEdits {
  readonly environment: Readonly<Record<"LD_PRELOAD" | "COTENANT_SOCKET", string>>;
  /** Folders of the machine, read-only. */
  readonly folders: readonly { readonly hostPath: string; readonly containerPath: string }[];
}

/** With the names of the format. */
export interface ContainerEdits {
  readonly env: readonly string[];
  readonly mounts: readonly Mount[];
}

export interface CdiDocument {
  readonly cdiVersion: string;
  readonly kind: string;
  readonly devices: readonly {
    readonly name: ClientClass;
    readonly containerEdits: ContainerEdits;
  }[];
}

/**
 * One device for each class. They bring the interposer and the agent's socket; the GPU itself comes from its vendor's
 * own specification. Throws a UserError when the library is not built.
 */
export function cdiDocument(directory: string, gpu: GpuKind): CdiDocument {
  const host = hostFiles(gpu);
  return {
    cdiVersion: "0.3.0", // the oldest that has all of this: more runtimes read it
    kind: "cotenant.io/class",
    // Each has all of the edits: the format also has edits for all devices, but published schemas refuse them.
    devices: clientClasses.map((name) => ({
      name,
      containerEdits: containerEdits(name, directory, host),
    })),
  };
}

/** Where the machine has what containers get. */
export interface HostFiles {
  /** The interposer. */
  readonly library: string;
  /** In the folder of the library. */
  readonly assemblers: readonly AssemblerStandIn[];
  /** The folder of the software GPU's library; undefined: containers get none. */
  readonly softGpu: string | undefined;
}

/** Those of this package. Throws a UserError when they are not built. */
export const hostFiles = (gpu: GpuKind): HostFiles => ({
  library: realpathSync(interposer(process.env)),
  assemblers: assemblerStandIns(),
  softGpu: gpu === "soft" ? softGpuFolder() : undefined,
});

/** Edits that make a container a client of a class, in CDI's form. `directory`: the machine's run directory. */
export function containerEdits(
  name: ClientClass,
  directory: string,
  { library, assemblers, softGpu }: HostFiles,
): ContainerEdits {
  const { environment, folders } = clientEdits(directory, library);
  const soft = softGpu === undefined ? { env: [], mounts: [] } : softGpuEdits(directory, softGpu);
  const compiler =
    name === "best-effort"
      ? // They find the assemblers that came with Triton.
        assemblers.map(({ variable, path }) => `${variable}=${inside.library}/${basename(path)}`)
      : [];
  return {
    env: [
      `COTENANT_CLASS=${name}`,
      ...Object.entries(environment).map(([key, value]) => `${key}=${value}`),
      ...compiler,
      ...soft.env,
    ],
    mounts: [
      ...folders.map(({ hostPath, containerPath }) => mount(hostPath, containerPath)),
      ...soft.mounts,
    ],
  };
}

/**
 * Edits for every container of a client. `directory`: the machine's run directory. `library`: where the machine has
 * the interposer.
 */
export function clientEdits(directory: string, library: string): ClientEdits {
  const { sharedSocket: socket } = pathsIn(directory);
  return {
    environment: {
      LD_PRELOAD: `${inside.library}/${basename(library)}`,
      COTENANT_SOCKET: `${inside.agent}/${basename(socket)}`,
    },
    // Not files: a mount of a file keeps the old one when it is replaced, as the socket is by each new agent.
    folders: [
      { hostPath: dirname(library), containerPath: inside.library },
      { hostPath: dirname(socket), containerPath: inside.agent },
    ],
  };
}

const softGpuEdits = (directory: string, library: string): ContainerEdits => ({
  env: [`LD_LIBRARY_PATH=${inside.softGpu}`, `COTENANT_SOFTGPU_DIR=${inside.softGpuMemory}`],
  mounts: [
    mount(library, inside.softGpu),
    mount(pathsIn(directory).softGpu, inside.softGpuMemory, "rw"),
  ],
});

const mount = (hostPath: string, containerPath: string, access = "ro"): Mount => ({
  hostPath,
  containerPath,
  options: ["rbind", "nosuid", "nodev", access],
});
