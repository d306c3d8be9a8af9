// Owns `nvidia.com/gpu` on a machine of the tests, as NVIDIA's device plugin does where there are GPUs: kubelet's interface
// v1beta1, of which what nobody asks here is left out.
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  loadPackageDefinition,
  type ServerWritableStream,
  type ServiceClientConstructor,
} from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";
import protobuf from "protobufjs";
import { callAt, type Served, serveAt } from "#kubernetes/node";

const PROTOCOL = `
syntax = "proto3";
package v1beta1;
service Registration { rpc Register(RegisterRequest) returns (Empty); }
service DevicePlugin {
  rpc GetDevicePluginOptions(Empty) returns (Options);
  rpc ListAndWatch(Empty) returns (stream Devices);
  rpc Allocate(AllocateRequest) returns (AllocateResponse);
}
message Empty {}
message Options {}
message RegisterRequest { string version = 1; string endpoint = 2; string resource_name = 3; }
message Devices { repeated Device devices = 1; }
message Device { string ID = 1; string health = 2; }
message AllocateRequest { repeated ContainerRequest container_requests = 1; }
message ContainerRequest { repeated string devices_ids = 1; }
message AllocateResponse { repeated ContainerResponse container_responses = 1; }
message ContainerResponse { map<string, string> envs = 1; repeated Mount mounts = 2; repeated Node devices = 3; }
message Node { string container_path = 1; string host_path = 2; string permissions = 3; }
message Mount { string container_path = 1; string host_path = 2; bool read_only = 3; }
`;

const { Registration, DevicePlugin } = (
  loadPackageDefinition(
    fromJSON(protobuf.parse(PROTOCOL, { keepCase: true }).root.toJSON(), { defaults: true }),
  ) as unknown as { readonly v1beta1: Readonly<Record<string, ServiceClientConstructor>> }
).v1beta1 as { readonly [name in "Registration" | "DevicePlugin"]: ServiceClientConstructor };

const ENDPOINT = "gpu.sock";
const LOOK_EVERY_MS = 200;

/** Edits of a container with a GPU, as NVIDIA's runtime brings the driver's library. */
export interface GpuForContainers {
  readonly uuids: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly mounts: readonly {
    readonly from: string;
    readonly to: string;
    readonly readOnly: boolean;
  }[];
  /** Paths of devices, as GKE's device plugin gives them. */
  readonly devices?: readonly string[];
}

/** `folder`: kubelet's device-plugins. It registers again whenever kubelet has started again. */
export async function startDevicePlugin(
  folder: string,
  { uuids, envs, mounts, devices = [] }: GpuForContainers,
): Promise<Served> {
  const path = join(folder, ENDPOINT);
  const answer = {
    envs,
    mounts: mounts.map(({ from, to, readOnly }) => ({
      ...{ host_path: from, container_path: to, read_only: readOnly },
    })),
    devices: devices.map((path) => ({
      ...{ host_path: path, container_path: path, permissions: "rw" },
    })),
  };
  const plugin = {
    GetDevicePluginOptions: (_: unknown, done: (error: null, value: object) => void) =>
      done(null, {}),
    // Nothing changes: the stream stays open.
    ListAndWatch: (call: ServerWritableStream<object, object>) =>
      void call.write({ devices: uuids.map((ID) => ({ ID, health: "Healthy" })) }),
    Allocate: (
      { request }: { request: { container_requests: readonly object[] } },
      done: (error: null, value: object) => void,
    ) => done(null, { container_responses: request.container_requests.map(() => answer) }),
  };
  let served: Served | undefined;
  let busy = false;
  const look = async () => {
    // kubelet removes all sockets of the folder when it starts.
    if (busy || (served && existsSync(path)) || !existsSync(join(folder, "kubelet.sock"))) return;
    busy = true;
    try {
      served?.close();
      served = await serveAt(path, [[DevicePlugin, plugin]]);
      await callAt(join(folder, "kubelet.sock"), Registration, "Register", {
        ...{ version: "v1beta1", endpoint: ENDPOINT, resource_name: "nvidia.com/gpu" },
      });
    } catch {
      // kubelet does not listen yet
      served?.close();
      served = undefined;
    } finally {
      busy = false;
    }
  };
  const timer = setInterval(() => void look(), LOOK_EVERY_MS);
  await look();
  return {
    close() {
      clearInterval(timer);
      served?.close();
    },
  };
}
