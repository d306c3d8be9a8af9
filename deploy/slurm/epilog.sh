#!/bin/sh
# Epilog of slurm.conf, which slurmd runs as root after a job: copies what the agent noted of the job's processes to the
# log of the system. It never fails, because Slurm would drain the node.
[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0
"${COTENANT:-/usr/local/bin/cotenant}" logs --lines 1000 |
  grep -E "Slurm job ${SLURM_JOB_ID:-none}([^0-9]|\$)" |
  logger --socket "${COTENANT_SYSLOG:-/dev/log}" --tag "cotenant-job-${SLURM_JOB_ID:-none}"
exit 0
