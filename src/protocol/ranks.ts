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

export function severalRanks(
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const found = rankCounts.find(
    (name) => /^\s*\d+\s*$/.test(env[name] ?? "") && Number(env[name]) > 1,
  );
  return found && `${found}=${env[found]?.trim()}`;
}
