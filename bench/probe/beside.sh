#!/usr/bin/env bash
# A kernel on the SMs beside others (beside.cu, draw.cu): alone, then under an MPS daemon of its own.
# bench/probe/beside.sh OUTDIR some 30 s; writes OUTDIR/beside.json. Leaves clocks, power and modes alone.
# BESIDE names the program where nvcc has been asked already.
set -u -o pipefail
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
cd "$(dirname "$0")/../.." || exit 2
export PATH="$PATH:/usr/local/cuda/bin"
scratch=$(mktemp -d)
mkdir "$scratch/pipe" "$scratch/log" "$scratch/none"

# shellcheck source=SCRIPTDIR/own-mps.sh
. bench/probe/own-mps.sh
finish() { stop_mps "$scratch/pipe"; rm -rf "$scratch"; }
trap finish EXIT
trap 'exit 130' INT TERM

program=${BESIDE:-}
if [ -z "$program" ]; then
  program=$scratch/beside
  nvcc -std=c++17 -O2 -arch=native -o "$program" bench/probe/beside.cu bench/probe/draw.cu || exit 1
fi
# Each row says how it was had; what ends too late leaves what it has.
rows() { # HOW SECONDS WORDS...
  timeout -k 1 "$2" "$program" "${@:3}" | sed -u "s/^{/{\"how\": \"$1\", /" >>"$scratch/rows" ||
    echo "$1: ended early" >&2
}
CUDA_MPS_PIPE_DIRECTORY=$scratch/none rows alone 10 draw
export CUDA_MPS_PIPE_DIRECTORY=$scratch/pipe CUDA_MPS_LOG_DIRECTORY=$scratch/log
if nvidia-cuda-mps-control -d; then
  unset CUDA_VISIBLE_DEVICES # the daemon numbers those that it was given anew
  rows mps 8 place
  rows mps 24 share
  for percent in 10 20 30 50; do
    CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$percent rows "mps, $percent %" 4 draw partition
  done
fi
python3 bench/live/result.py "$out/beside.json" bench/probe/beside.sh OUTDIR <"$scratch/rows"
