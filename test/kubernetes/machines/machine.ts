// A machine of the cluster that runs containers: kubelet, containerd and runc in mount, PID and cgroup namespaces of their
// own, with a /run, a /var/lib and an /opt of their own. Its network is that of the real machine. Killing its first process
// ends everything on it.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Cluster, freePort, until } from "../cluster.ts";
import { environmentWith, type Program, startProgram } from "../programs.ts";
import { initOf, makeCgroups, removeCgroups } from "./cgroups.ts";
import { makeImage } from "./image.ts";
import {
  containerdSettings,
  importing,
  kubeletSettings,
  network,
  nodeFolders,
  type PodNetwork,
} from "./settings.ts";

const first = fileURLToPath(new URL("first.sh", import.meta.url));
const enter = fileURLToPath(new URL("enter.sh", import.meta.url));

/** As systemd does: kubelet ends when it is started before containerd listens. */
const KEPT_RUNNING = 'until setpriv --pdeathsig KILL kubelet "$@"; do sleep 1; done';

export interface Machine {
  readonly name: string;
  /** Its own folders, as this process sees them: run is /run, lib is /var/lib, opt what is new in /opt. */
  readonly folder: string;
  /** Starts a command on it, in the background; its output goes to NAME.log. One of that name is killed first. */
  start(
    name: string,
    words: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<Program>;
  /** Runs one and returns what it printed. Throws with what it said when it fails. */
  run(command: string, args: readonly string[], env?: Readonly<Record<string, string>>): string;
  /** Kills kubelet or containerd, and starts it again. */
  restart(program: "kubelet" | "containerd"): Promise<void>;
  programs(): readonly Program[];
  stop(): Promise<void>;
}

/**
 * Starts a machine and waits until its node is ready. `folders`: of Kubernetes' programs. `nri`: whether its containerd has a
 * Node Resource Interface. `pods`: the network of its pods; without one they have the machine's.
 */
export async function startMachine(
  cluster: Cluster,
  folders: string,
  name: string,
  nri: boolean,
  pods?: PodNetwork,
): Promise<Machine> {
  const folder = join(cluster.folder, name);
  for (const part of ["run/cni", "lib/kubelet", "opt", "log", "image"])
    mkdirSync(join(folder, part), { recursive: true });
  writeFileSync(
    join(folder, "containerd.toml"),
    containerdSettings(nri ? nodeFolders : { ...nodeFolders, nri: undefined }),
  );
  writeFileSync(join(folder, "run/cni/network.conflist"), network(pods));
  writeFileSync(join(folder, "kubelet.json"), kubeletSettings(cluster.authority, await freePort()));
  const cgroup = `cotenant-${process.pid}-${name}`;
  const begun = startFirst(folder, makeCgroups(cgroup));
  const running = new Map<string, Program>();
  let pid = 0;
  // A process may not come from outside into a cgroup of the namespace that it is in.
  const file = initOf(cgroup);
  const [enters, ...before] =
    file === undefined
      ? (["nsenter"] as const)
      : (["sh", "-c", 'echo $$ >"$0"; exec nsenter "$@"', file] as const);
  const inside = (words: readonly string[]) => [
    ...before,
    ...["--target", String(pid), "--mount", "--pid", "--cgroup", "--", "sh", enter, ...words],
  ];

  const machine: Machine = {
    name,
    folder,
    async start(called, words, env = {}) {
      await running.get(called)?.kill();
      const options = { env, log: called };
      const started = startProgram(folders, folder, enters, inside(words), options);
      running.set(called, started);
      return started;
    },
    run(command, args, env = {}) {
      const { status, stdout, stderr, error } = spawnSync(enters, inside([command, ...args]), {
        encoding: "utf8",
        env: { ...environmentWith(folders), ...env },
      });
      if (error !== undefined) throw error;
      if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${stderr}`);
      return stdout;
    },
    restart: async (program) => void (await start[program]()),
    programs: () => [...running.values()],
    async stop() {
      begun.kill("SIGKILL");
      for (const program of running.values()) await program.kill();
      await removeCgroups(cgroup);
    },
  };
  const start = {
    containerd: () =>
      machine.start("containerd", ["containerd", "--config", join(folder, "containerd.toml")]),
    kubelet: () =>
      machine.start("kubelet", [
        ...["sh", "-c", KEPT_RUNNING, "kubelet"],
        `--config=${join(folder, "kubelet.json")}`,
        `--kubeconfig=${cluster.kubeconfigOf(`system:node:${name}`, "system:nodes")}`,
        ...[`--hostname-override=${name}`, "--v=2"],
      ]),
  };
  try {
    await until(`${name} has its mounts`, [], async () => {
      if (begun.exitCode !== null) throw new Error(`${name} could not start: see its log`);
      return existsSync(join(folder, "ready"));
    });
    pid = pidBelow(begun.pid ?? 0);
    await start.containerd();
    await until(`${name}'s containerd listens`, machine.programs(), async () =>
      existsSync(join(folder, "run/containerd/containerd.sock")),
    );
    const archive = makeImage(join(folder, "image"));
    machine.run("ctr", ["--namespace", "k8s.io", ...importing(archive)]);
    await start.kubelet();
    await until(`the node ${name} is ready`, machine.programs(), async () => {
      const { stdout } = await cluster.kubectl([
        ...["get", "node", name, "-o"],
        'jsonpath={.status.conditions[?(@.type=="Ready")].status}',
      ]);
      return stdout === "True";
    });
    return machine;
  } catch (error) {
    await machine.stop();
    throw error;
  }
}

function startFirst(folder: string, cgroups: readonly string[]): ChildProcess {
  return spawn("setpriv", ["--pdeathsig", "KILL", "sh", first, folder, ...cgroups], {
    stdio: ["ignore", "ignore", "inherit"],
    detached: true,
  });
}

/** The child of `unshare`, which is the first process of the node. */
function pidBelow(pid: number): number {
  const found = Number.parseInt(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"), 10);
  if (!(found > 0)) throw new Error("the first process of a machine has ended");
  return found;
}
