// The pods of one-gpu.ts: PyTorch's programs from this machine's Python, or `cotenant load` on the software GPU. All are
// jobs of a bench, led by control files (workloads/control.py).
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import type { MachineGpu } from "../../../test/kubernetes/machines/cotenant.ts";
import { PACKAGE } from "../../../test/kubernetes/machines/image.ts";
import { KEPT, loadPod } from "../../../test/kubernetes/machines/pods.ts";
import * as made from "../../../test/kubernetes/pods.ts";

export interface Programs {
  /** The pod `serve`. `kept`: the folder of the control files. */
  service(kept: string): object;
  /** The Job `train`. */
  training(kept: string): object;
  /** A pod with the same training as the job `plain`, of which Cotenant is told nothing. */
  plainTraining(kept: string): object;
  /** A Job with a movable training of its own, whose container may have the memory that it needs parked, or not. */
  movable(kept: string, kind: Movable): object;
  /** The user, the variables and the folders that they have, and a command that finds out whether they could run so. */
  readonly user: number;
  readonly env: Readonly<Record<string, string>>;
  readonly folders: readonly string[];
  readonly trial: readonly string[];
}

/** The names of movable trainings: whether the memory limit of the container has room for what is on the GPU. */
export type Movable = "roomy" | "tight";

interface Program {
  /** The container's command. */
  readonly serve: readonly string[];
  readonly train: readonly string[];
  readonly user: number;
  readonly env: Readonly<Record<string, string>>;
  /** Folders of the machine that pods mount where the machine has them. */
  readonly folders: readonly string[];
  readonly trial: readonly string[];
  /** Resources of the training; the default is that of the tests. */
  readonly resources?: made.Container["resources"];
  /** Memory on the GPU. */
  readonly memory: { readonly service: string; readonly training: string };
  /** The command, the memory on the GPU, and the container's memory limit. */
  readonly movable: Readonly<
    Record<Movable, readonly [command: readonly string[], onGpu: string, limit: string]>
  >;
}

const control = ["--control", KEPT] as const;

export function softPrograms(gpu: MachineGpu): Programs {
  const cotenant = [process.execPath, join(PACKAGE, "bin/cotenant")];
  const load = [...cotenant, "load", "--kernels", "20"];
  // As Python, a shell that is a container's first process does not end at SIGTERM.
  const asChild = ["sh", "-c", '"$0" "$@"; true'];
  return programsOf(gpu, {
    serve: [...load, "--kernel-us", "200", "--warmup", "0.1"],
    train: [...load, "--depth", "2", "--kernel-us", "150", "--warmup", "0.1"],
    ...{ user: 1000, env: {}, folders: [], trial: [...cotenant, "--version"] },
    // The guest of rehearse.sh has one CPU.
    resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "100m" } },
    memory: { service: "1Gi", training: "10Gi" },
    movable: {
      roomy: [[...asChild, ...load, "--memory", "64MiB"], "1Gi", "1Gi"],
      tight: [[...asChild, ...load, "--memory", "512MiB"], "1Gi", "384Mi"],
    },
  });
}

/** BERT-large and GPT-2-large, as bert-graph and gpt2-train of bench/jobs.json have them. */
export function realPrograms(gpu: MachineGpu): Programs {
  const { python, folders } = pythonHere();
  const program = (name: string, words: string) => [
    ...[python, join(PACKAGE, "workloads", name), ...words.split(" ")],
  ];
  const env = {
    HOME: "/tmp",
    USER: "pod",
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONUNBUFFERED: "1",
    OMP_NUM_THREADS: "4",
  };
  const trial = [
    "import subprocess, sys, torch",
    `subprocess.run([sys.executable, "${join(PACKAGE, "workloads/serve.py")}", "--check"], check=True)`,
    "torch.zeros(1, device='cuda')",
    "print(torch.__version__, torch.cuda.get_device_name())",
  ];
  return programsOf(gpu, {
    trial: [python, "-c", trial.join("\n")],
    serve: program(
      "serve.py",
      "--model bert-large --batch 4 --sequence 128 --dtype bf16 --form graph",
    ),
    train: program("train.py", "--model gpt2-large --batch 8 --sequence 512 --dtype autocast"),
    ...{ user: userOf(python), env, folders },
    resources: {
      limits: { cpu: "4", memory: "16Gi" },
      requests: { cpu: "1", memory: "2Gi" },
    },
    memory: { service: "4Gi", training: "32Gi" },
    movable: {
      roomy: [program("train.py", "--model bert-base"), "16Gi", "24Gi"],
      tight: [program("train.py", "--model bert-base --batch 16"), "24Gi", "8Gi"],
    },
  });
}

/** This machine's Python with PyTorch, and the folders outside /usr that it consists of. */
function pythonHere(): { readonly python: string; readonly folders: readonly string[] } {
  const ask =
    "import json, os, sys, torch; print(json.dumps([sys.executable, sys.prefix, sys.base_prefix, " +
    "os.path.dirname(os.path.realpath(sys.executable)), os.path.dirname(os.path.dirname(torch.__file__))]))";
  const said: readonly string[] = JSON.parse(
    execFileSync("python3", ["-c", ask], { encoding: "utf8" }),
  );
  const [python = "", ...all] = said;
  const outside = [...new Set(all)].filter((folder) => !folder.startsWith("/usr"));
  const folders = outside.filter(
    (folder) => !outside.some((other) => other !== folder && folder.startsWith(`${other}/`)),
  );
  return { python, folders };
}

/** Root where no other user may read that Python. */
function userOf(python: string): number {
  const words = ["--reuid=1000", "--clear-groups", python, "-c", "import torch"];
  return spawnSync("setpriv", words).status === 0 ? 1000 : 0;
}

function programsOf({ forContainers }: MachineGpu, program: Program): Programs {
  type Made = ReturnType<typeof loadPod> & { spec: { containers: { [field: string]: unknown }[] } };
  const podOf = (
    pod: made.Pod,
    command: readonly string[],
    kept: string,
    memory?: string,
  ): Made => {
    const loaded = loadPod(pod, program.user, [], kept) as Made;
    const [container] = loaded.spec.containers;
    if (container === undefined) throw new Error("the pod has no container");
    container.command = command;
    container.env = envOf(program.env);
    loaded.spec.volumes ??= [];
    for (const [i, path] of program.folders.entries())
      mount(loaded, `program-${i}`, path, path, true);
    if (memory !== undefined) annotate(loaded, memory);
    return loaded;
  };
  const training = () => {
    const pod = made.bestEffort();
    const [container] = pod.spec.containers;
    if (container !== undefined && program.resources !== undefined)
      container.resources = program.resources;
    return pod;
  };
  const { user, env, folders, trial } = program;
  return {
    ...{ user, env, folders, trial },
    service(kept) {
      const pod = made.high();
      delete pod.metadata.annotations?.["cotenant.io/objective"];
      const command = [...program.serve, ...control, "--name", "serve"];
      return made.asObject(podOf(pod, command, kept, program.memory.service));
    },
    training(kept) {
      const command = [...program.train, ...control, "--name", "train"];
      const pod = training();
      // Python does not handle SIGTERM.
      pod.spec.terminationGracePeriodSeconds = 5;
      return made.jobOf(podOf(pod, command, kept, program.memory.training), "train");
    },
    movable(kept, kind) {
      const [command, onGpu, limit] = program.movable[kind];
      const pod = training();
      const [container] = pod.spec.containers;
      if (container !== undefined)
        container.resources = {
          limits: { ...container.resources.limits, memory: limit },
          requests: { ...container.resources.requests, memory: "100Mi" },
        };
      pod.metadata.annotations = { ...pod.metadata.annotations, "cotenant.io/movable": "true" };
      const words = [...command, ...control, "--name", kind];
      // A slow machine needs a while to see it parked.
      pod.spec.terminationGracePeriodSeconds = 120;
      return made.jobOf(podOf(pod, words, kept, onGpu), kind);
    },
    plainTraining(kept) {
      const command = [...program.train, ...control, "--name", "plain"];
      const pod = podOf(made.plain(), command, kept);
      const [container] = pod.spec.containers;
      if (container === undefined) throw new Error("the pod has no container");
      container.env = envOf({ ...program.env, ...forContainers.envs });
      // It has all devices of the machine, so nothing gives it the GPU.
      container.securityContext = { privileged: true };
      for (const [i, { from, to, readOnly }] of forContainers.mounts.entries())
        mount(pod, `gpu-${i}`, from, to, readOnly);
      return made.asObject(pod);
    },
  };
}

const envOf = (variables: Readonly<Record<string, string>>) =>
  Object.entries(variables).map(([name, value]) => ({ name, value }));

function mount(pod: made.Pod, name: string, from: string, to: string, readOnly: boolean): void {
  pod.spec.volumes?.push({ name, hostPath: { path: from } });
  pod.spec.containers[0]?.volumeMounts?.push({ name, mountPath: to, readOnly });
}

function annotate({ metadata }: made.Pod, memory: string): void {
  if (metadata.annotations !== undefined) metadata.annotations["cotenant.io/memory"] = memory;
}
