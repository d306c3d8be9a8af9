#!/bin/sh
# Prolog of slurm.conf, which slurmd runs as root before a job: a node whose agent does not answer takes no GPU job. Slurm
# then drains the node and queues the job again.
set -eu
[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0
if ! said=$("${COTENANT:-/usr/local/bin/cotenant}" status --json 2>&1 >/dev/null); then
  echo "job ${SLURM_JOB_ID:-?}: $said" >&2
  exit 1
fi
