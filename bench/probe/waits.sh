#!/usr/bin/env bash
# Does best-effort work beside a request change the request's own time, or what it waits for the GPU? (waits.py) Under MPS with
# priorities, nothing held.
#   bench/probe/waits.sh OUTDIR [HIGH+BEST-EFFORT...]      jobs of bench/jobs.json; a minute each; writes OUTDIR/waits.json
# Needs PyTorch. GPU=1 takes that one.
set -u -o pipefail
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
cd "$(dirname "$0")/../.." || exit 2
pairs=("$@")
[ $# -gt 0 ] || pairs=(resnet50-eager+resnet50-train resnet50-eager+bert-train resnet50-eager+gpt2-train bert-graph+resnet50-train)
scratch=$(mktemp -d)
export CUDA_MPS_PIPE_DIRECTORY=$scratch CUDA_MPS_LOG_DIRECTORY=$scratch

# shellcheck source=SCRIPTDIR/own-mps.sh
. bench/probe/own-mps.sh
finish() { stop_mps "$scratch"; rm -rf "$scratch"; }
trap finish EXIT
trap 'exit 130' INT TERM

CUDA_VISIBLE_DEVICES=${GPU:-0} nvidia-cuda-mps-control -d || exit 1
for pair in "${pairs[@]}"; do
  CUDA_VISIBLE_DEVICES=0 timeout -k 3 130 python3 bench/probe/waits.py 42 "${pair%+*}" "${pair#*+}" || echo "$pair: no result" >&2
done | python3 bench/live/result.py "$out/waits.json" bench/probe/waits.sh OUTDIR
