#!/bin/sh
# TaskProlog of slurm.conf, which runs as the user before each task: what it prints as "export NAME=value" the task gets.
# Jobs of the partitions named here are best-effort, those of all others are high. The agent's grants decide
# whether they may: docs/guide/tenants.md.
set -eu
best_effort_partitions=${COTENANT_BEST_EFFORT:-best-effort preempt}
[ -n "${SLURM_JOB_GPUS:-${SLURM_STEP_GPUS:-}}" ] || exit 0
# A user may leave a job as it is: "sbatch --export=ALL,COTENANT_OFF=1".
[ "${COTENANT_OFF:-}" != 1 ] || exit 0

class=high
for partition in $best_effort_partitions; do
  [ "$partition" != "${SLURM_JOB_PARTITION:-}" ] || class=best-effort
done
cotenant=$(readlink -f "${COTENANT:-/usr/local/bin/cotenant}")
library=$(dirname "$(dirname "$cotenant")")/build/native/libcotenant.so
# Ranks of a gang meet NCCL's names there.
if [ "$class" = best-effort ] && [ "${SLURM_STEP_NUM_TASKS:-1}" -gt 1 ]; then
  library=$library:${library%.so}-nccl.so
fi
echo "export LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD}"
echo "export COTENANT_CLASS=$class"
echo "export COTENANT_NAME=${SLURM_JOB_NAME:-slurm}"
# Tasks of a step are one job.
echo "export COTENANT_JOB=step ${SLURM_JOB_ID:-}.${SLURM_STEP_ID:-}"
echo "export COTENANT_SOCKET=${COTENANT_DIR:-/run/cotenant}/shared/agent.sock"
