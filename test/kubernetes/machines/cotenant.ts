// Cotenant on a machine of the tests: the agent, the node part and the owner of its software GPU. In a cluster a DaemonSet
// starts the first two (deploy/kubernetes/chart/templates/node.yaml).
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import type { Status } from "#agent";
import { packageRoot } from "#core";
import type { Served } from "#kubernetes/node";
import { type Cluster, until } from "../cluster.ts";
import { type GpuForContainers, startDevicePlugin } from "./device-plugin.ts";
import type { Machine } from "./machine.ts";

const cotenant = [process.execPath, join(packageRoot(), "bin/cotenant")];
/** Where containers find the software GPU, as `cotenant cdi` has it. */
const SOFT_GPU = "/opt/cotenant/softgpu";
const MEMORY = "/opt/cotenant/softgpu-memory";
/** Best-effort pods stay for this long on a GPU that has lost its service. */
const GRACE = "3s";
/** A GPU that was over its limit is judged again after twice this. */
const BACK_OFF_SECONDS = 0.5;

export interface Cotenant {
  /** The UUID of the machine's GPU. */
  readonly gpu: string;
  status(): Status;
  restart(part: "agent" | "node part"): Promise<void>;
  stop(): void;
}

/** Describes a machine's GPU to Cotenant's parts and to containers there. */
export interface MachineGpu {
  /** As `--gpu` has it. */
  readonly kind: "soft" | "auto";
  readonly env: Readonly<Record<string, string>>;
  readonly forContainers: Omit<GpuForContainers, "uuids">;
}

/** `serial`: another one for each machine, so that their GPUs have different UUIDs. */
export function softGpu(serial: number): MachineGpu {
  const env = { COTENANT_SOFTGPU: `serial=${serial}` };
  return {
    ...{ kind: "soft", env },
    forContainers: {
      envs: { ...env, LD_LIBRARY_PATH: SOFT_GPU, COTENANT_SOFTGPU_DIR: MEMORY },
      mounts: [
        { from: SOFT_GPU, to: SOFT_GPU, readOnly: true },
        { from: "/run/cotenant/softgpu", to: MEMORY, readOnly: false },
      ],
    },
  };
}

/** The GPU of the real machine, given to containers by its devices and the folder of the driver's library. */
export function realGpu(): MachineGpu {
  const folder = driverFolder();
  const env = { LD_LIBRARY_PATH: folder };
  return {
    ...{ kind: "auto", env },
    forContainers: {
      envs: env,
      // Containers have /usr of the machine.
      mounts: folder.startsWith("/usr/") ? [] : [{ from: folder, to: folder, readOnly: true }],
      devices: readdirSync("/dev").flatMap((name) =>
        /^nvidia(\d+|ctl|-uvm|-uvm-tools)$/.test(name) ? [`/dev/${name}`] : [],
      ),
    },
  };
}

function driverFolder(): string {
  const linked = execFileSync("ldconfig", ["-p"], { encoding: "utf8" }).match(
    /libcuda\.so\.1 \(libc6,x86-64\) => (\S+)/,
  )?.[1];
  const others = [
    ...(process.env.LD_LIBRARY_PATH ?? "").split(delimiter),
    "/usr/local/nvidia/lib64",
  ];
  const folders = linked === undefined ? others : [dirname(linked), ...others];
  const found = folders.find((folder) => existsSync(join(folder, "libcuda.so.1")));
  if (found === undefined)
    throw new Error("this machine has no libcuda.so.1: install NVIDIA's driver");
  return found;
}

/** NVIDIA's specification of a GPU, as `nvidia-ctk cdi generate --device-name-strategy=uuid` names it. */
const vendorSpecification = (gpu: string, edits: MachineGpu["forContainers"]): object => ({
  ...{ cdiVersion: "0.6.0", kind: "nvidia.com/gpu" },
  devices: [
    {
      name: gpu,
      containerEdits: { deviceNodes: (edits.devices ?? []).map((path) => ({ path })) },
    },
  ],
  containerEdits: {
    env: Object.entries(edits.envs).map(([name, value]) => `${name}=${value}`),
    mounts: edits.mounts.map(({ from, to }) => ({
      ...{ hostPath: from, containerPath: to, options: ["ro", "nosuid", "nodev", "rbind"] },
    })),
  },
});

/** Cotenant has to be installed. */
export async function startCotenant(
  cluster: Cluster,
  machine: Machine,
  { kind, env, forContainers }: MachineGpu,
): Promise<Cotenant> {
  const account = join(machine.folder, "account");
  mkdirSync(account, { recursive: true });
  const token = await cluster.ask([
    ...["create", "token", "cotenant-node", "-n", "cotenant-system", "--duration=3h"],
    ...["--bound-object-kind=Node", `--bound-object-name=${machine.name}`],
  ]);
  writeFileSync(join(account, "token"), token, { mode: 0o600 });
  copyFileSync(cluster.authority, join(account, "ca.crt"));
  const start = {
    "node part": () =>
      machine.start(
        "node part",
        [
          ...[...cotenant, "offer-gpus", "--gpu", kind, "--grace", GRACE],
          ...["--server", cluster.server, "--account", account, "--node", machine.name],
        ],
        env,
      ),
    agent: () =>
      machine.start(
        "agent",
        [
          ...[...cotenant, "up", "--system", "--foreground", "--gpu", kind],
          ...["--grants", "/run/cotenant/grants.json", "--health", `backOff=${BACK_OFF_SECONDS}`],
        ],
        env,
      ),
  };
  const run = join(machine.folder, "run/cotenant");
  await start["node part"]();
  await until("the agent's grants are there", machine.programs(), async () =>
    existsSync(join(run, "grants.json")),
  );
  await start.agent();
  const status = () =>
    JSON.parse(machine.run(cotenant[0] ?? "", [...cotenant.slice(1), "status", "--json"]));
  await until("the agent answers", machine.programs(), async () =>
    existsSync(join(run, "agent.json")),
  );
  // A software GPU is there from its first process on.
  if (kind === "soft")
    machine.run(
      cotenant[0] ?? "",
      [...cotenant.slice(1), "load", "--arrivals", "closed", "--seconds", "0.1"],
      {
        ...env,
        ...{ LD_LIBRARY_PATH: SOFT_GPU, COTENANT_SOFTGPU_DIR: "/run/cotenant/softgpu" },
      },
    );
  let gpu = "";
  await until("the agent sees a GPU", machine.programs(), async () => {
    gpu = (status() as Status).gpus[0]?.uuid ?? "";
    return gpu !== "";
  });
  if (kind === "auto") {
    const folder = join(machine.folder, "run/cdi");
    mkdirSync(folder, { recursive: true });
    const specification = vendorSpecification(gpu, forContainers);
    writeFileSync(join(folder, "nvidia.json"), JSON.stringify(specification));
  }
  const plugin: Served = await startDevicePlugin(
    join(machine.folder, "lib/kubelet/device-plugins"),
    { uuids: [gpu], ...forContainers },
  );
  return {
    gpu,
    status,
    restart: async (part) => void (await start[part]()),
    stop: () => plugin.close(),
  };
}
