// Names, numbers and types are those of github.com/containerd/nri (pkg/api/api.proto, 0.12) and
// github.com/containerd/ttrpc (request.proto, 1.2).
import protobuf from "protobufjs";

const TTRPC = `
syntax = "proto3";
package ttrpc;
message Request { string service = 1; string method = 2; bytes payload = 3; int64 timeout_nano = 4; }
message Status { int32 code = 1; string message = 2; }
message Response { Status status = 1; bytes payload = 2; }
`;

const NRI = `
syntax = "proto3";
package nri;
message Empty {}
message RegisterPluginRequest { string plugin_name = 1; string plugin_idx = 2; }
message ConfigureRequest { string runtime_name = 2; string runtime_version = 3; }
message ConfigureResponse { int32 events = 2; }
message SynchronizeRequest { repeated PodSandbox pods = 1; repeated Container containers = 2; bool more = 3; }
message SynchronizeResponse { bool more = 2; }
message CreateContainerRequest { PodSandbox pod = 1; Container container = 2; }
message CreateContainerResponse { ContainerAdjustment adjust = 1; }
message PodSandbox {
  string id = 1;
  string name = 2;
  string uid = 3;
  string namespace = 4;
  map<string, string> annotations = 6;
}
message Container {
  string id = 1;
  string pod_sandbox_id = 2;
  string name = 3;
  int32 state = 4;
  repeated string env = 8;
  repeated Mount mounts = 9;
  int64 created_at = 14;
}
message Mount { string destination = 1; string type = 2; string source = 3; repeated string options = 4; }
message KeyValue { string key = 1; string value = 2; }
message ContainerAdjustment { repeated Mount mounts = 3; repeated KeyValue env = 4; }
`;

export const RUNTIME_SERVICE = "nri.pkg.api.v1alpha1.Runtime";
export const PLUGIN_SERVICE = "nri.pkg.api.v1alpha1.Plugin";

/** It is a bit in the mask of events that a plugin subscribes to. */
export const CREATE_CONTAINER_EVENT = 1 << 3;
export const STOPPED = 4;

export interface Sandbox {
  readonly id: string;
  readonly name: string;
  readonly uid: string;
  readonly namespace: string;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Mount {
  readonly destination: string;
  readonly type: string;
  readonly source: string;
  readonly options: readonly string[];
}

export interface Container {
  readonly id: string;
  readonly podSandboxId: string;
  readonly name: string;
  readonly state: number;
  /** It includes that of the image, as NAME=VALUE. */
  readonly env: readonly string[];
  readonly mounts: readonly Mount[];
  /** It is in ns since 1970. */
  readonly createdAt: number;
}

/** A name with a leading - takes back what others have set. */
export interface Adjustment {
  readonly env: readonly { readonly key: string; readonly value: string }[];
  readonly mounts: readonly Mount[];
}

/** `decode` fills in what was left out, and throws for bytes that are no such message. */
interface Codec<T extends object> {
  encode(message: T): Uint8Array;
  decode(bytes: Uint8Array): T;
}

const kinds = [TTRPC, NRI].map((text) => protobuf.parse(text).root);

function codec<T extends object>(name: string): Codec<T> {
  const type = kinds.flatMap((root) => (root.lookup(name) as protobuf.Type | null) ?? [])[0];
  if (type === undefined) throw new Error(`there is no message ${name}`);
  return {
    encode: (message) => type.encode(type.fromObject(message)).finish(),
    decode: (bytes) => type.toObject(type.decode(bytes), { defaults: true, longs: Number }) as T,
  };
}

export const messages = {
  request: codec<{ service: string; method: string; payload: Uint8Array; timeoutNano: number }>(
    "ttrpc.Request",
  ),
  response: codec<{
    status?: { code: number; message: string } | null;
    payload: Uint8Array;
  }>("ttrpc.Response"),
  empty: codec<Record<string, never>>("nri.Empty"),
  register: codec<{ pluginName: string; pluginIdx: string }>("nri.RegisterPluginRequest"),
  configure: codec<{ runtimeName: string; runtimeVersion: string }>("nri.ConfigureRequest"),
  configured: codec<{ events: number }>("nri.ConfigureResponse"),
  synchronize: codec<{
    pods: readonly Sandbox[];
    containers: readonly Container[];
    more: boolean;
  }>("nri.SynchronizeRequest"),
  synchronized: codec<{ more: boolean }>("nri.SynchronizeResponse"),
  create: codec<{ pod: Sandbox; container: Container }>("nri.CreateContainerRequest"),
  created: codec<{ adjust?: Adjustment }>("nri.CreateContainerResponse"),
};
