#!/usr/bin/env bash
# The price of MPS by itself for a request, and whether any documented setting changes it (mps.cu, mps_service.py,
# mps.py).
# bench/mps/mps.sh OUTDIR [SECONDS] writes OUTDIR/mps.json; needs PyTorch and GPU 0. Leaves clocks, power and modes
# alone.
# MPS_PROBE names the program where nvcc has been asked already.
set -u -o pipefail
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
seconds=${2:-90}
cd "$(dirname "$0")/../.." || exit 2
export PATH="$PATH:/usr/local/cuda/bin"
scratch=$(mktemp -d)
export PIPES=$scratch/pipes
mkdir -p "$PIPES/none" "$PIPES/plain" "$scratch/log"

# shellcheck source=SCRIPTDIR/own-mps.sh
. bench/probe/own-mps.sh
finish() { stop_mps "$PIPES/plain"; rm -rf "$scratch"; }
trap finish EXIT
trap 'exit 130' INT TERM

program=${MPS_PROBE:-}
if [ -z "$program" ]; then
  program=$scratch/mps
  nvcc -std=c++17 -O2 -arch=native -o "$program" bench/mps/mps.cu || exit 1
fi
nvidia-cuda-mps-control -h >"$out/mps-help.txt" 2>&1
CUDA_MPS_PIPE_DIRECTORY=$PIPES/plain CUDA_MPS_LOG_DIRECTORY=$scratch/log nvidia-cuda-mps-control -d || exit 1
python3 bench/mps/mps.py "$program" "$seconds" "$out" >"$scratch/rows"
python3 bench/live/result.py "$out/mps.json" bench/mps/mps.sh OUTDIR <"$scratch/rows"
