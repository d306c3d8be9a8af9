// The settings of kubelet and containerd on a machine of the tests.
import { IMAGE } from "./image.ts";

/** Where containerd listens, as the node sees it. */
const CONTAINERD = "/run/containerd/containerd.sock";

/** It needs nothing of the kernel, and the image is small enough to be copied. */
const SNAPSHOTTER = "native";

/** Arguments of ctr. */
export const importing = (archive: string): readonly string[] => [
  ...["images", "import", "--local", "--snapshotter", SNAPSHOTTER, archive],
];

interface ContainerdFolders {
  /** Folders of data that stays, of data that lasts until the machine starts again, and of its sockets. */
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  /** The socket of its Node Resource Interface; undefined: it has none. */
  readonly nri: string | undefined;
}

/** As a node of the tests has it. */
export const nodeFolders: ContainerdFolders = {
  ...{ root: "/var/lib/containerd", state: "/run/containerd", socket: CONTAINERD },
  nri: "/var/run/nri/nri.sock",
};

export const containerdSettings = ({ root, state, socket, nri }: ContainerdFolders) => `version = 3
root = "${root}"
state = "${state}"
[grpc]
address = "${socket}"
[ttrpc]
address = "${socket}.ttrpc"
[plugins."io.containerd.nri.v1.nri"]
disable = ${nri === undefined}
socket_path = "${nri ?? ""}"
[plugins."io.containerd.cri.v1.images"]
snapshotter = "${SNAPSHOTTER}"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "${IMAGE}"
[plugins."io.containerd.cri.v1.runtime"]
# A machine of CI may lack CAP_SYS_RESOURCE.
restrict_oom_score_adj = true
disable_apparmor = true
cdi_spec_dirs = ["/etc/cdi", "/run/cdi"]
[plugins."io.containerd.cri.v1.runtime".cni]
conf_dir = "/run/cni"
bin_dirs = ["/usr/lib/cni"]
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = false
`;

/** A network of pods: the name of its bridge on the real machine, and its addresses, such as 10.97.1.0/24. */
export interface PodNetwork {
  readonly bridge: string;
  readonly addresses: string;
}

/**
 * The container runtime's network. Without addresses pods have the machine's network: there has to be one, but nobody
 * uses it.
 */
export const network = (pods?: PodNetwork) =>
  JSON.stringify({
    cniVersion: "1.0.0",
    name: pods?.bridge ?? "none",
    plugins: [
      pods === undefined
        ? { type: "none" }
        : {
            ...{ type: "bridge", bridge: pods.bridge, isDefaultGateway: true },
            ipam: { type: "host-local", ranges: [[{ subnet: pods.addresses }]] },
          },
    ],
  });

/** `authority`: of who may ask kubelet. */
export const kubeletSettings = (authority: string, port: number) =>
  JSON.stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    ...{ port, readOnlyPort: 0, healthzPort: 0, address: "127.0.0.1" },
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: false },
      x509: { clientCAFile: authority },
    },
    authorization: { mode: "AlwaysAllow" },
    containerRuntimeEndpoint: `unix://${CONTAINERD}`,
    cgroupDriver: "cgroupfs",
    ...{ failCgroupV1: false, failSwapOn: false, makeIPTablesUtilChains: false },
    // Without CAP_SYS_RESOURCE it may not be lowered.
    ...{ oomScoreAdj: 0, maxOpenFiles: 20_000, enforceNodeAllocatable: ["none"] },
    // The machine's disk is not the node's own.
    evictionHard: { "memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%" },
    ...{ imageGCHighThresholdPercent: 100, localStorageCapacityIsolation: false },
    ...{ nodeStatusUpdateFrequency: "5s", syncFrequency: "5s" },
    shutdownGracePeriod: "0s",
    resolvConf: "",
  });
