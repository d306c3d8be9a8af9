// Objects that tests give to a cluster.

/** A pod of one container. `resources`: its limits. `claim`: the name of a claim for a device that it wants. */
export const pod = (name: string, resources: Readonly<Record<string, string>>, claim?: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    containers: [
      {
        name: "main",
        image: "none",
        resources: { limits: resources, ...(claim && { claims: [{ name: "device" }] }) },
      },
    ],
    ...(claim && { resourceClaims: [{ name: "device", resourceClaimName: claim }] }),
  },
});

const DRIVER = "test.cotenant.io";

export const deviceClass = {
  apiVersion: "resource.k8s.io/v1",
  kind: "DeviceClass",
  metadata: { name: DRIVER },
  spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }] },
};

/** One device of a node, which two claims may share; its memory is enough for both. */
export const sliceOn = (node: string, taints: readonly object[]) => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: { name: `${node}-gpus` },
  spec: {
    driver: DRIVER,
    nodeName: node,
    pool: { name: node, generation: 1, resourceSliceCount: 1 },
    devices: [
      {
        name: "gpu-0",
        allowMultipleAllocations: true,
        capacity: { slots: { value: "2" }, memory: { value: "80Gi" } },
        taints,
      },
    ],
  },
});

/** Wants one slot and some memory of a device. */
export const claim = (name: string) => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaim",
  metadata: { name },
  spec: {
    devices: {
      requests: [
        {
          name: "gpu",
          exactly: {
            deviceClassName: DRIVER,
            capacity: { requests: { slots: "1", memory: "10Gi" } },
          },
        },
      ],
    },
  },
});

/** The GPUs of a node as Cotenant's driver publishes them. */
export const gpuSlice = (node: string, uuids: readonly string[]) => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: { name: `${node}-cotenant` },
  spec: {
    driver: "gpu.cotenant.io",
    nodeName: node,
    pool: { name: node, generation: 1, resourceSliceCount: 1 },
    devices: uuids.map((uuid, i) => ({
      name: `gpu-${i}`,
      allowMultipleAllocations: true,
      attributes: { uuid: { string: uuid } },
      capacity: { slots: { value: "2" }, memory: { value: "80Gi" } },
    })),
  },
});
