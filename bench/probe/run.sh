#!/bin/bash
# run.sh OUTDIR [experiment...]: the probe as plain processes, then under an MPS daemon of its own.
# Writes OUTDIR/probe-isolated.json and OUTDIR/probe-mps.json. Leaves clocks, power and modes alone.
set -u
[ $# -ge 1 ] || { echo "run.sh OUTDIR [experiment...]" >&2; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 1
shift
here=$(cd "$(dirname "$0")" && pwd)
export PATH="$PATH:/usr/local/nvidia/bin:/usr/local/cuda/bin"
build=$(mktemp -d) && scratch=$(mktemp -d) || exit 1
mkdir "$scratch/pipe" "$scratch/log" "$scratch/none"

# shellcheck source=SCRIPTDIR/own-mps.sh
. "$here/own-mps.sh"
finish() { stop_mps "$scratch/pipe"; rm -rf "$scratch" "$build"; }
trap finish EXIT
trap 'exit 130' INT TERM

make -C "$here" --no-print-directory BUILD="$build" || exit 1

# An empty pipe directory: no MPS daemon that may be running already is used.
CUDA_MPS_PIPE_DIRECTORY=$scratch/none timeout -k 5 180 \
  "$build/turnaround" "$@" --mode isolated --json "$out/probe-isolated.json"

export CUDA_MPS_PIPE_DIRECTORY=$scratch/pipe CUDA_MPS_LOG_DIRECTORY=$scratch/log
if ! nvidia-cuda-mps-control -d; then
  echo '{"mode": "mps", "error": "the MPS daemon did not start"}' > "$out/probe-mps.json"
  exit 1
fi
timeout -k 5 180 "$build/turnaround" "$@" --mode mps --json "$out/probe-mps.json"
stop_mps "$scratch/pipe"
cp "$scratch"/log/*.log "$out" 2>/dev/null
exit 0
