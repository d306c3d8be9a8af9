#!/usr/bin/env bash
# The price that a request of 3 ms pays beside kernels that nothing divides. Mode isolated, for several lengths of
# kernels.
# bench/probe/undivided.sh OUTDIR [SHAPE:US...] some 11 s each; writes OUTDIR/undivided.json
# COTENANT_GPU=soft tries it on the software GPU, SECONDS_EACH says how long requests come.
set -u
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
cd "$(dirname "$0")/../.." || exit 2
kernels=("$@")
[ $# -gt 0 ] || kernels=(compute:100 compute:300 memory:300 compute:600 memory:600 compute:900)
seconds=${SECONDS_EACH:-6}
scratch=$(mktemp -d)
export COTENANT_DIR=$scratch/agent
trap 'node bin/cotenant down >/dev/null 2>&1; rm -rf "$scratch"' EXIT

requests() { # MARKS: 60 kernels of 50 us in a graph, load 0.2
  timeout $((seconds + 15)) node bin/cotenant "${@:2}" load --graph --kernels 60 --kernel-us 50 --rate 65 --warmup 1 \
    --seconds "$seconds" --marks "$1" >/dev/null
}

requests "$scratch/alone.marks" || exit 1
for kernel in "${kernels[@]}"; do
  node bin/cotenant up --gpu "${COTENANT_GPU:-auto}" --policy strict --set preemptUs=0 >/dev/null || exit 1
  timeout $((seconds + 20)) node bin/cotenant run --class best-effort -- node bin/cotenant load --shape "${kernel%%:*}" \
    --kernel-us "${kernel##*:}" --arrivals closed --depth 3 --seconds $((seconds + 4)) >/dev/null &
  neighbour=$!
  sleep 1.5
  requests "$scratch/$kernel.marks" run --class high -- node bin/cotenant
  wait "$neighbour"
  node bin/cotenant down >/dev/null
done
python3 bench/probe/undivided.py "$scratch" | python3 bench/live/result.py "$out/undivided.json" bench/probe/undivided.sh OUTDIR
