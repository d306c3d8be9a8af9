/**
 * torchrun, Open MPI, MPICH and Slurm (PMI), MPICH (Hydra), Intel MPI, MVAPICH, IBM Spectrum MPI,
 * Horovod, and `srun` set these (a batch script of Slurm has none).
 */
export const rankCounts = [
  "WORLD_SIZE",
  "LOCAL_WORLD_SIZE",
  "OMPI_COMM_WORLD_SIZE",
  "PMI_SIZE",
  "MPI_LOCALNRANKS",
  "I_MPI_INFO_NP",
  "MV2_COMM_WORLD_SIZE",
  "JSM_NAMESPACE_SIZE",
  "HOROVOD_SIZE",
  "SLURM_STEP_NUM_TASKS",
] as const;

type Environment = Readonly<Record<string, string | undefined>>;

export function severalRanks(env: Environment): string | undefined {
  const found = rankCounts.find(
    (name) => /^\s*\d+\s*$/.test(env[name] ?? "") && Number(env[name]) > 1,
  );
  return found && `${found}=${env[found]?.trim()}`;
}

/** Variables in which a launcher describes a rank. */
interface Launcher {
  readonly ranks: (typeof rankCounts)[number];
  readonly rank: string;
  /** How many of the ranks are on this machine, or on how many machines they are; undefined: it does not say. */
  readonly here?: string;
  readonly nodes?: string;
  /** Together they name the job. */
  readonly names: readonly string[];
}

/** Ranks that torchrun has started again are another gang, and the same job. */
const RESTARTS = "TORCHELASTIC_RESTART_COUNT";

/** torchrun, Open MPI and Slurm. */
export const launchers: readonly Launcher[] = [
  {
    ...{ ranks: "WORLD_SIZE", rank: "RANK", here: "LOCAL_WORLD_SIZE" },
    names: ["MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", RESTARTS],
  },
  {
    ...{ ranks: "OMPI_COMM_WORLD_SIZE", rank: "OMPI_COMM_WORLD_RANK" },
    ...{ here: "OMPI_COMM_WORLD_LOCAL_SIZE" },
    names: ["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"],
  },
  {
    ...{ ranks: "SLURM_STEP_NUM_TASKS", rank: "SLURM_PROCID", nodes: "SLURM_STEP_NUM_NODES" },
    names: ["SLURM_JOB_ID", "SLURM_STEP_ID"],
  },
];

/** Ranks of a gang: a bit each in its shared memory. */
export const MAX_GANG_RANKS = 16;

/** Why ranks are no gang. */
export const noGang = {
  tooLarge: `more than ${MAX_GANG_RANKS} ranks`,
  noRank: "its number is not below that of the ranks",
  elsewhere: "its ranks are on several machines",
  unnamed: "neither torchrun, Open MPI nor Slurm says which rank it is and of which job",
} as const;

/** Why this rank can't be one of a gang, whose collectives are committed; undefined: it can. */
export function whyNoGang(env: Environment): string | undefined {
  const launcher = launcherIn(env);
  if (!launcher) return noGang.unnamed;
  const [ranks = 0, rank = 0] = [count(env, launcher.ranks), count(env, launcher.rank)];
  if (ranks > MAX_GANG_RANKS) return noGang.tooLarge;
  if (rank < 0 || rank >= ranks) return noGang.noRank;
  if ((count(env, launcher.here) ?? ranks) !== ranks || (count(env, launcher.nodes) ?? 1) > 1)
    return noGang.elsewhere;
  return launcher.names.some((name) => env[name] !== undefined) ? undefined : noGang.unnamed;
}

/** The number of this rank, and a text that names its job; undefined: it is no rank of several, or its job has no name. */
export function rankIn(
  env: Environment,
): { readonly rank: number; readonly job: string } | undefined {
  const launcher = launcherIn(env);
  const named =
    launcher?.names.filter((name) => env[name] !== undefined && name !== RESTARTS) ?? [];
  if (!launcher || named.length === 0) return undefined;
  const job = named.map((name) => `${name}=${env[name]}`).join(" ");
  return { rank: count(env, launcher.rank) ?? 0, job };
}

const launcherIn = (env: Environment): Launcher | undefined =>
  launchers.find(
    ({ ranks, rank }) => (count(env, ranks) ?? 0) > 1 && count(env, rank) !== undefined,
  );

const count = (env: Environment, name: string | undefined): number | undefined =>
  name !== undefined && /^\s*-?\d+$/.test(env[name] ?? "") ? Number(env[name]) : undefined;
