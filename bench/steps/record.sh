#!/usr/bin/env bash
# Records the bursts of programs that work in steps, each alone on the GPU, and what the agent makes of them.
#   bench/steps/record.sh OUTDIR       writes OUTDIR/NAME.bursts.json, NAME.status.json, NAME.log
# RECORD: the bundled bench/steps/record.ts, "node dist/record.mjs"; JOBS: lines "NAME WAIT COMMAND", WAIT: seconds until it
# serves; COTENANT_GPU=soft: on the software GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
record=${RECORD:-npx tsx $here/record.ts}
jobs=${JOBS:-"engine 18 python3 workloads/engine.py --seconds 15
generate 10 python3 workloads/generate.py --seconds 15
eager 8 python3 workloads/serve.py --model resnet50 --rate 60 --seconds 15
training 8 python3 workloads/train.py --model gpt2-large --seconds 15
diffusion 10 python3 workloads/diffusion.py --seconds 15"}
scratch=$(mktemp -d)
export COTENANT_DIR=$scratch/agent
cotenant="node $root/bin/cotenant"
finish() {
  $cotenant down >/dev/null 2>&1
  rm -rf "$scratch"
}
trap finish EXIT
cd "$root" || exit 2
$cotenant up ${COTENANT_GPU:+--gpu "$COTENANT_GPU"} >/dev/null || exit 2
while read -r name wait command; do
  # shellcheck disable=SC2086
  timeout 45 $cotenant run --class high --name "$name" -- $command >"$out/$name.log" 2>&1 </dev/null &
  program=$!
  sleep "$wait"
  # shellcheck disable=SC2086
  $record "$COTENANT_DIR" 7 >"$out/$name.bursts.json" 2>>"$out/$name.log" </dev/null
  $cotenant status --json >"$out/$name.status.json" 2>>"$out/$name.log" </dev/null
  $cotenant status </dev/null | grep -E "steps of|would suit|suits" || echo "$name: no steps"
  kill "$program" 2>/dev/null
  wait "$program" 2>/dev/null
  sleep 1
done <<<"$jobs"
