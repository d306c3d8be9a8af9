// https://github.com/cncf-tags/container-device-interface defines the format.
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

const inside = {
  library: "/opt/cotenant/lib",
  agent: pathsIn(SYSTEM_DIRECTORY).shared,
  softGpu: "/opt/cotenant/softgpu",
  softGpuMemory: "/opt/cotenant/softgpu-memory", // all of its processes share it
} as const;

const clientClasses: readonly ClientClass[] = ["high", "best-effort"];

interface Mount {
  readonly hostPath: string;
  readonly containerPath: string;
  readonly options: readonly string[];
}

export interface ClientEdits {
  readonly environment: Readonly<Record<"LD_PRELOAD" | "COTENANT_SOCKET", string>>;
  readonly folders: readonly { readonly hostPath: string; readonly containerPath: string }[];
}

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

/** The GPU comes from its vendor's own specification. Throws a UserError without a library. */
export function cdiDocument(directory: string, gpu: GpuKind): CdiDocument {
  const host = hostFiles(gpu);
  return {
    cdiVersion: "0.3.0", // the oldest that has all of this: more runtimes read it
    kind: "cotenant.io/class",
    // Each device has all edits: published schemas refuse edits for all devices.
    devices: clientClasses.map((name) => ({
      name,
      containerEdits: containerEdits(name, directory, host),
    })),
  };
}

export interface HostFiles {
  readonly library: string;
  readonly assemblers: readonly AssemblerStandIn[];
  readonly softGpu: string | undefined; // undefined: containers get none
}

export const hostFiles = (gpu: GpuKind): HostFiles => ({
  library: realpathSync(interposer(process.env)),
  assemblers: assemblerStandIns(),
  softGpu: gpu === "soft" ? softGpuFolder() : undefined,
});

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

/** `directory`: the machine's run directory; `library`: its interposer. */
export function clientEdits(directory: string, library: string): ClientEdits {
  const { sharedSocket: socket } = pathsIn(directory);
  return {
    environment: {
      LD_PRELOAD: `${inside.library}/${basename(library)}`,
      COTENANT_SOCKET: `${inside.agent}/${basename(socket)}`,
    },
    // A mount of a file keeps the old one when it is replaced, as the socket is by each new agent.
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
