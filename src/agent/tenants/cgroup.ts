// A path counts only if it starts at the root and each folder above the name is one in which root
// alone creates cgroups: a user with a delegated cgroup can name the cgroups below it freely.

export interface Origin {
  readonly cgroup: string;
  readonly container: string | undefined; // 64 hexadecimal digits, or its name (`ctr run`)
  readonly pod: string | undefined;
  readonly unit: string | undefined;
  readonly slurmJob: string | undefined;
}

type Found = Partial<Omit<Origin, "cgroup">>;

const ID = "([0-9a-f]{64})";
const POD = "([0-9a-f_-]{32,36})";
const END = "(?:/|$)";

// Sources: kubelet's cgroup manager (drivers systemd and cgroupfs), the cgroup paths of Docker,
// containerd's `ctr` and nerdctl, CRI-O and Podman, slurmstepd's cgroup plugins, systemd.slice(5).
const patterns: readonly (readonly [RegExp, ...(keyof Found)[]])[] = [
  [
    new RegExp(
      `^(?:/kubelet\\.slice/kubelet-kubepods\\.slice|/kubepods\\.slice)(?:/[a-z-]*kubepods-(?:burstable|besteffort)\\.slice)?` +
        `/(?:kubelet-)?kubepods-(?:burstable-|besteffort-)?pod${POD}\\.slice/(?:cri-containerd-|crio-|docker-)?${ID}(?:\\.scope)?${END}`,
    ),
    "pod",
    "container",
  ],
  [
    new RegExp(
      `^(?:/kubelet)?/kubepods/(?:burstable/|besteffort/)?pod${POD}/(?:crio-)?${ID}${END}`,
    ),
    "pod",
    "container",
  ],
  [new RegExp(`^/system\\.slice/(?:docker|nerdctl)-${ID}\\.scope${END}`), "container"],
  [new RegExp(`^/machine\\.slice/libpod-${ID}\\.scope${END}`), "container"],
  [new RegExp(`^/(?:docker|libpod_parent)/(?:libpod-)?${ID}${END}`), "container"],
  [new RegExp(`^/default/([\\w.-]{1,76})${END}`), "container"],
  [new RegExp(`^/system\\.slice/(?:[\\w.-]+_)?slurmstepd\\.scope/job_(\\d+)${END}`), "slurmJob"],
  [new RegExp(`^/slurm(?:_[\\w.-]+)?/uid_\\d+/job_(\\d+)${END}`), "slurmJob"],
  [new RegExp(`^/system\\.slice/(?:[^/]+\\.slice/)*([^/]+\\.service)${END}`), "unit"],
  [new RegExp(`^/user\\.slice/user-\\d+\\.slice/([^/]+\\.(?:service|scope))${END}`), "unit"],
];

export function originIn(text: string): Origin {
  const paths = text
    .split("\n")
    .map((line) => /^\d+:[^:]*:(\/.*)$/.exec(line)?.[1])
    .filter((path): path is string => path !== undefined);
  for (const path of paths) {
    const found = foundIn(path);
    if (found) return { ...nothing, ...found, cgroup: path };
  }
  return { ...nothing, cgroup: paths[0] ?? "" };
}

const nothing = { container: undefined, pod: undefined, unit: undefined, slurmJob: undefined };

function foundIn(path: string): Found | undefined {
  for (const [pattern, ...names] of patterns) {
    const match = pattern.exec(path);
    if (!match) continue;
    const found = names.map((name, i) => [name, idFrom(name, match[i + 1] ?? "")] as const);
    return Object.fromEntries(found);
  }
  return undefined;
}

/** systemd writes a pod's UID with underscores, because a hyphen separates slices. */
const idFrom = (name: keyof Found, text: string): string =>
  name === "pod" ? text.replaceAll("_", "-") : text;
