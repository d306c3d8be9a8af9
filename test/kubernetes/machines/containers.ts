// A container runtime alone, without kubelet: the real containerd, asked by its Container Runtime Interface (k8s.io/cri-api,
// runtime/v1), as kubelet asks it. Fields that nobody needs here are left out.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Client,
  credentials,
  loadPackageDefinition,
  type ServiceClientConstructor,
} from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";
import protobuf from "protobufjs";
import { wallNow } from "#core";
import { removeFolder } from "../../e2e/remove-folder.ts";
import { until } from "../cluster.ts";
import { environmentWith, type Program, programFolders, startProgram } from "../programs.ts";
import { makeCgroups, removeCgroups } from "./cgroups.ts";
import { IMAGE, makeImage } from "./image.ts";
import { containerdSettings, importing } from "./settings.ts";

const PROTOCOL = `
syntax = "proto3";
package runtime.v1;
service RuntimeService {
  rpc ListContainers(Empty) returns (Empty);
  rpc RunPodSandbox(RunPodSandboxRequest) returns (RunPodSandboxResponse);
  rpc CreateContainer(CreateContainerRequest) returns (CreateContainerResponse);
}
message Empty {}
message RunPodSandboxRequest { Sandbox config = 1; }
message RunPodSandboxResponse { string pod_sandbox_id = 1; }
message Sandbox {
  Name metadata = 1;
  string log_directory = 3;
  map<string, string> annotations = 7;
  LinuxSandbox linux = 8;
}
message Name { string name = 1; string uid = 2; string namespace = 3; }
message LinuxSandbox { string cgroup_parent = 1; SecurityContext security_context = 2; }
message SecurityContext { NamespaceOption namespace_options = 1; }
message NamespaceOption { int32 network = 1; int32 pid = 2; int32 ipc = 3; }
message CreateContainerRequest { string pod_sandbox_id = 1; Container config = 2; Sandbox sandbox_config = 3; }
message CreateContainerResponse { string container_id = 1; }
message Container {
  ContainerName metadata = 1;
  Image image = 2;
  repeated Variable envs = 6;
  repeated Mount mounts = 7;
}
message ContainerName { string name = 1; }
message Image { string image = 1; }
message Variable { string key = 1; string value = 2; }
message Mount { string container_path = 1; string host_path = 2; }
`;

const { RuntimeService } = (
  (
    loadPackageDefinition(
      fromJSON(protobuf.parse(PROTOCOL, { keepCase: true }).root.toJSON(), {
        keepCase: true,
        defaults: true,
      }),
    ) as unknown as {
      readonly runtime: { readonly v1: Readonly<Record<string, ServiceClientConstructor>> };
    }
  ).runtime as { readonly v1: { readonly RuntimeService: ServiceClientConstructor } }
).v1;

/** The machine's network, and namespaces of the pod else. */
const NODE_NETWORK = { network: 2, pid: 1, ipc: 0 };
const NAMESPACE = "k8s.io";
/** A busy machine takes its time. */
const WITHIN_MS = 120_000;

interface PodOfRuntime {
  readonly name: string;
  readonly uid: string;
  readonly namespace: string;
  readonly annotations: Readonly<Record<string, string>>;
}

interface ContainerOfRuntime {
  readonly name: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Folders of the machine, by where the container has them. */
  readonly mounts?: Readonly<Record<string, string>>;
}

/** A container as it was created. */
export interface Created {
  /** How long the runtime took, in ms. */
  readonly tookMs: number;
  readonly env: readonly string[];
  readonly mounts: readonly { readonly destination: string; readonly source: string }[];
}

export interface Containerd {
  /** The socket of its Node Resource Interface. */
  readonly nri: string;
  readonly program: Program;
  /** Creates a container in a new sandbox of that pod. */
  create(pod: PodOfRuntime, container: ContainerOfRuntime): Promise<Created>;
  /** Kills it and starts it again, with the interface or without. */
  restart(withNri: boolean): Promise<void>;
  stop(): Promise<void>;
}

/** `env`: what the image brings, NAME=VALUE. */
export async function startContainerd(env: readonly string[]): Promise<Containerd> {
  const folders = programFolders(false);
  const folder = mkdtempSync(join(tmpdir(), "cotenant-cri-"));
  const cgroup = `cotenant-cri-${process.pid}`;
  makeCgroups(cgroup);
  const [socket, nri] = [join(folder, "c.sock"), join(folder, "nri/nri.sock")];
  const settings = join(folder, "containerd.toml");
  const parts = { root: join(folder, "lib"), state: join(folder, "run"), socket };
  let program: Program | undefined;
  const ask = <T>(method: string, request: object): Promise<T> => {
    const client = new RuntimeService(`unix:${socket}`, credentials.createInsecure()) as Client &
      Record<string, (...words: readonly unknown[]) => unknown>;
    return new Promise<T>((resolve, reject) => {
      const deadline = wallNow() + WITHIN_MS;
      client[method]?.(request, { deadline }, (error: Error | null, answer: T) =>
        error ? reject(error) : resolve(answer),
      );
    }).finally(() => client.close());
  };
  const start = async (withNri: boolean) => {
    await program?.kill();
    rmSync(socket, { force: true });
    rmSync(nri, { force: true });
    const own = { ...parts, nri: withNri ? nri : undefined };
    writeFileSync(settings, containerdSettings(own));
    // Its mounts and shims end with it.
    const alone = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    const words = [...alone, "containerd", "--config", settings];
    program = startProgram(folders, folder, "unshare", words, { log: "containerd" });
    await until("containerd answers", [program], () =>
      ask("ListContainers", {}).then(
        () => true,
        () => false,
      ),
    );
  };
  const ctr = (...args: readonly string[]): string =>
    execFileSync("ctr", ["--address", socket, "--namespace", NAMESPACE, ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: environmentWith(folders),
    });
  await start(true);
  mkdirSync(join(folder, "image"));
  const archive = makeImage(join(folder, "image"), env);
  ctr(...importing(archive));
  return {
    nri,
    get program() {
      if (program === undefined) throw new Error("containerd was not started");
      return program;
    },
    async create({ annotations, ...metadata }, { name, env: variables = {}, mounts = {} }) {
      const sandbox = {
        ...{ metadata, annotations, log_directory: folder },
        linux: {
          cgroup_parent: `/${cgroup}`,
          security_context: { namespace_options: NODE_NETWORK },
        },
      };
      const { pod_sandbox_id } = await ask<{ pod_sandbox_id: string }>("RunPodSandbox", {
        config: sandbox,
      });
      const begin = performance.now();
      const { container_id } = await ask<{ container_id: string }>("CreateContainer", {
        ...{ pod_sandbox_id, sandbox_config: sandbox },
        config: {
          ...{ metadata: { name }, image: { image: IMAGE } },
          envs: Object.entries(variables).map(([key, value]) => ({ key, value })),
          mounts: Object.entries(mounts).map(([container_path, host_path]) => ({
            ...{ container_path, host_path },
          })),
        },
      });
      const tookMs = performance.now() - begin;
      const { Spec } = JSON.parse(ctr("containers", "info", container_id));
      return { tookMs, env: Spec.process.env, mounts: Spec.mounts };
    },
    restart: start,
    async stop() {
      await program?.kill();
      await removeCgroups(cgroup);
      removeFolder(folder);
    },
  };
}
