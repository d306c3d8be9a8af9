#!/usr/bin/env bash
# Is what nodes report of a pair, from which forecasts learn, what its jobs report? On a machine with a GPU and PyTorch:
#   bench/predict/label.sh OUTDIR [SERVICE+TRAINING...]     the nine pairs of the bench by default: seven minutes
# All runs under one agent with its defaults. OUTDIR gets label.json and label.txt, and label.log tells what happened when. It ends
# at the first failure; label.json then has the pairs before it. A pair of which a node would make no label is a failure at the end.
# A pair is one training and one service, which share their processes with the other pairs: a service is solo first, then a
# training, then both run, then the training solo again.
# LOAD is the service's, 0.2 by default, and COMMIT what was measured. Without a GPU:
#   GPU=soft bench/predict/label.sh OUTDIR synthetic-high+synthetic-best-effort synthetic-tokens+synthetic-best-effort
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
[ $# -gt 0 ] || set -- {bert-graph,resnet50-graph,resnet50-eager}+{bert-train,gpt2-train,resnet50-train}
node "$root/bin/cotenant-lab" bench --label "$@" --gpu "${GPU:-auto}" --load "${LOAD:-0.2}" ${COMMIT:+--commit "$COMMIT"} \
  --out "$out/label.json" 2> >(tee "$out/label.log" >&2) | tee "$out/label.txt"
