// Names, numbers and types are those of k8s.io/kubelet/pkg/apis (pluginregistration/v1, dra/v1,
// podresources/v1). Fields that nobody reads are left out, which protobuf allows.
import { loadPackageDefinition, type ServiceClientConstructor } from "@grpc/grpc-js";
import { fromJSON, type PackageDefinition } from "@grpc/proto-loader";
import protobuf from "protobufjs";

const REGISTRATION = `
syntax = "proto3";
package pluginregistration;
service Registration {
  rpc GetInfo(InfoRequest) returns (PluginInfo);
  rpc NotifyRegistrationStatus(RegistrationStatus) returns (RegistrationStatusResponse);
}
message InfoRequest {}
message PluginInfo { string type = 1; string name = 2; string endpoint = 3; repeated string supported_versions = 4; }
message RegistrationStatus { bool plugin_registered = 1; string error = 2; }
message RegistrationStatusResponse {}
`;

const RESOURCES = `
syntax = "proto3";
package k8s.io.kubelet.pkg.apis.dra.v1;
service DRAPlugin {
  rpc NodePrepareResources(Claims) returns (Prepared);
  rpc NodeUnprepareResources(Claims) returns (Unprepared);
}
message Claim { string namespace = 1; string uid = 2; string name = 3; }
message Claims { repeated Claim claims = 1; }
message Device {
  repeated string request_names = 1;
  string pool_name = 2;
  string device_name = 3;
  repeated string cdi_device_ids = 4;
  optional string share_id = 5;
}
message PreparedClaim { repeated Device devices = 1; string error = 2; }
message Prepared { map<string, PreparedClaim> claims = 1; }
message UnpreparedClaim { string error = 1; }
message Unprepared { map<string, UnpreparedClaim> claims = 1; }
`;

const POD_RESOURCES = `
syntax = "proto3";
package v1;
service PodResourcesLister { rpc List(ListRequest) returns (ListResponse); }
message ListRequest {}
message ListResponse { repeated PodResources pod_resources = 1; }
message PodResources { string name = 1; string namespace = 2; repeated ContainerResources containers = 3; }
message ContainerResources { string name = 1; repeated ContainerDevices devices = 2; }
message ContainerDevices { string resource_name = 1; repeated string device_ids = 2; }
`;

export interface ClaimName {
  readonly namespace: string;
  readonly uid: string;
  readonly name: string;
}

export interface PreparedDevice {
  readonly requestNames: readonly string[];
  readonly poolName: string;
  readonly deviceName: string;
  readonly cdiDeviceIds: readonly string[];
  readonly shareId?: string;
}

export interface PodResources {
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly {
    readonly devices: readonly {
      readonly resourceName: string;
      readonly deviceIds: readonly string[];
    }[];
  }[];
}

export const Registration = serviceIn(REGISTRATION, "pluginregistration.Registration");
export const DraPlugin = serviceIn(RESOURCES, "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin");
export const PodResourcesLister = serviceIn(POD_RESOURCES, "v1.PodResourcesLister");

function serviceIn(text: string, name: string): ServiceClientConstructor {
  const definition: PackageDefinition = fromJSON(protobuf.parse(text).root.toJSON(), {
    defaults: true,
  });
  let at: unknown = loadPackageDefinition(definition);
  for (const part of name.split(".")) at = (at as Record<string, unknown>)[part];
  return at as ServiceClientConstructor;
}
