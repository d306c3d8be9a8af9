import { basename } from "node:path";
import { type Finding, fail, pass, skip, warn } from "../facts/finding.ts";
import { type Surroundings, textOf } from "../facts/surroundings.ts";

/** The first of each is how the library's name begins. */
const sharers: readonly (readonly [string, string])[] = [
  ["libvgpu", "HAMi"],
  ["libgemhook", "KubeShare"],
  ["libgemini", "Gemini"],
  ["libshimcuda", "XSched"],
  ["libxpreload", "XSched"],
  ["libxsched", "XSched"],
  ["libtally", "Tally"],
  ["libvcuda", "vCUDA"],
];

/** Systems that share GPUs set these in the containers that they start. */
const sharersVariables: readonly (readonly [string, string])[] = [
  ["CUDA_DEVICE_MEMORY_LIMIT", "HAMi"],
  ["CUDA_DEVICE_SM_LIMIT", "HAMi"],
];

export function checkPreloads(around: Surroundings): readonly Finding[] {
  const check = "other preloads";
  const places = [
    ["LD_PRELOAD", around.env.LD_PRELOAD ?? ""],
    ["/etc/ld.so.preload", textOf(around, "/etc/ld.so.preload") ?? ""],
  ] as const;
  const found = places.flatMap(([place, text]) =>
    text
      .replace(/#.*$/gm, "")
      .split(/[\s:]+/)
      .filter((path) => path !== "" && !basename(path).startsWith("libcotenant"))
      .map((path) => describePreload(check, place, path)),
  );
  const variables = sharersVariables
    .filter(([name]) => Object.keys(around.env).some((one) => one.startsWith(name)))
    .map(([name, system]) =>
      fail(
        check,
        `${name} is set: ${system} limits the programs that start here.`,
        `Run in a container or shell without ${system}.`,
      ),
    );
  const all = [...found, ...variables];
  return all.length > 0 ? all : [pass(check, "No other library is preloaded.")];
}

function describePreload(check: string, place: string, path: string): Finding {
  const [, system] = sharers.find(([name]) => basename(path).startsWith(name)) ?? [];
  return system === undefined
    ? warn(
        check,
        `${place} holds ${path}: if it replaces functions of the CUDA driver, each call passes both libraries.`,
        `Take it out of ${place} for jobs under Cotenant if it holds back launches itself.`,
      )
    : fail(
        check,
        `${place} holds ${path} of ${system}, which shares GPUs in its own way.`,
        `Take it out of ${place}: two libraries that hold back launches work against each other.`,
      );
}

/** native/interposer/process/environment.cpp has the interposer's own among these, too. */
export const toolVariables = {
  NV_COMPUTE_PROFILER_PERFWORKS_DIR: "Nsight Compute",
  NV_NSIGHT_INJECTION_PORT_BASE: "an Nsight tool",
  NV_TPS_LAUNCH_UUID: "an Nsight tool",
  NV_SANITIZER_INJECTION_PORT_BASE: "compute-sanitizer",
  CUDBG_APICLIENT_PID: "cuda-gdb",
} as const;

/** They name a library that CUDA or NVTX loads into every program. */
const injections = ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"] as const;

export function checkTools({ env }: Surroundings): readonly Finding[] {
  const check = "profilers";
  const tools = Object.entries(toolVariables)
    .filter(([name]) => env[name] !== undefined)
    .map(([name, tool]) =>
      warn(
        check,
        `${name} is set: ${tool} looks at programs that start here, and best-effort ones run as if Cotenant were not there.`,
        "Start jobs from a shell without it.",
      ),
    );
  const injected = injections
    .filter((name) => env[name])
    .map((name) =>
      warn(
        check,
        `${name} names ${env[name]}: a library that CUDA loads into each program, such as a profiler's; it makes launches slower.`,
        `Unset ${name} for jobs under Cotenant.`,
      ),
    );
  const all = [...tools, ...injected];
  return all.length > 0 ? all : [pass(check, "No profiler or debugger is set up to be loaded.")];
}

export function checkSwitch({ env }: Surroundings): Finding {
  const check = "switched on";
  const off = env.COTENANT_OFF ?? "";
  return off !== "" && off !== "0"
    ? warn(
        check,
        `COTENANT_OFF=${off} is set: programs that start here run as if Cotenant were not there.`,
        "Unset COTENANT_OFF.",
      )
    : pass(check, "COTENANT_OFF is not set.");
}

/** Copies of a GPU that a device plugin hands out are named GPU-UUID::NUMBER. */
export function checkReplicas({ env }: Surroundings): Finding {
  const check = "replicas";
  const devices = env.NVIDIA_VISIBLE_DEVICES ?? "";
  if (devices.includes("::"))
    return warn(
      check,
      `NVIDIA_VISIBLE_DEVICES=${devices}: the device plugin gives this GPU to several containers, by time slicing or MPS.`,
      "All of these containers must be clients of one agent of the machine (docs/guide/containers.md), or be kept off this GPU.",
    );
  return env.KUBERNETES_SERVICE_HOST
    ? skip(check, "In Kubernetes it can't be seen from here whether other containers get this GPU.")
    : pass(check, "No device plugin gives out copies of a GPU here.");
}
