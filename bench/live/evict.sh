#!/usr/bin/env bash
# A training is ended in the middle of a service's requests: what the service's requests pay, and whether they all end well.
# In mode mps the client of MPS is ended first, so that the service beside it does not fall.
#   bench/live/evict.sh OUTDIR [MODE]           writes OUTDIR/evict-MODE.json, -evict.json and -status.txt; MODE: mps
# TRAINING is the command of the training; GPU=soft without a GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
mode=${2:-mps}
export COTENANT_DIR=$out/agent-$mode
mkdir -p -m 700 "$COTENANT_DIR"
cotenant=$root/bin/cotenant
trap '"$cotenant" down >/dev/null 2>&1' EXIT
fail() { echo "$1" >&2; tail -n 20 "$2" >&2; exit 1; }

"$cotenant" up --mode "$mode" ${GPU:+--gpu "$GPU"} >"$out/up" 2>&1 || fail "the agent did not start" "$out/up"
# shellcheck disable=SC2086
"$cotenant" run --class best-effort --name training -- ${TRAINING:-python3 $here/../engine/finetune.py} >"$out/training.log" 2>&1 &
training=$!
for _ in $(seq 60); do grep -q "${STEP:-step 5 }" "$out/training.log" && break; sleep 1; done
kill -0 $training 2>/dev/null || fail "the training ended by itself" "$out/training.log"
"$cotenant" run --class high --name service -- "$cotenant" load --kernels 60 --kernel-us 100 --arrivals poisson --rate 30 \
  --seconds 12 --marks "$out/evict-$mode.marks" --json >"$out/evict-$mode.json" 2>"$out/service.err" &
service=$!
for _ in $(seq 300); do grep -q serving "$out/service.err" && break; sleep 0.1; done
sleep 6
"$cotenant" evict --checkpoint true --grace 2s training --json >"$out/evict-$mode-evict.json" 2>&1 || fail "the eviction failed" "$out/evict-$mode-evict.json"
wait $training
echo "the training ended with $?"
"$cotenant" status >"$out/evict-$mode-status.txt" 2>&1
wait $service || fail "the service failed" "$out/service.err"
cat "$out/evict-$mode.json" "$out/evict-$mode-evict.json"
