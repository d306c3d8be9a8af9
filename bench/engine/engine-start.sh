#!/usr/bin/env bash
# How a training fares beside an LLM engine, from the engine's start to its last request: time slicing, and Cotenant.
#   bench/engine/engine-start.sh OUTDIR [ROUNDS]      writes OUTDIR/engine-start.json
# TRAIN: the job of bench/jobs.json (gpt2-train); SECONDS_EACH (90): how long the training runs; LEAD (12): of it alone, before.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
rounds=${2:-1}
seconds=${SECONDS_EACH:-90}
lead=${LEAD:-12}
scratch=$(mktemp -d)
export COTENANT_DIR=$scratch/agent
cotenant="node $root/bin/cotenant"
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
  $cotenant down >/dev/null 2>&1
  rm -rf "$scratch"
}
trap finish EXIT
train=$(python3 -c "
import json; print(json.load(open('$root/bench/jobs.json'))['${TRAIN:-gpt2-train}']['run'].replace('{workloads}', '$root/workloads'))")
engine="python3 $root/workloads/engine.py --seconds 15"

measure() { # NAME ENGINE-PREFIX TRAIN-PREFIX
  local at=$scratch/$1
  mkdir -p "$at"
  # shellcheck disable=SC2086
  $3 $train --seconds "$seconds" --times "$at/train" >"$at/train.log" 2>&1 & local training=$!
  pids=("$training")
  for _ in $(seq 900); do grep -q ready "$at/train.log" && break; sleep 0.1; done
  sleep "$lead"
  # shellcheck disable=SC2086
  $2 $engine --stages "$at/stages" --json "$at/requests" >"$at/engine.log" 2>&1 || cat "$at/engine.log"
  [ "$1" = slicing ] || $cotenant status >"$out/$1.status.txt" 2>&1
  wait "$training"
  cp "$at/engine.log" "$out/$1.engine.log"
  cp "$at/train.log" "$out/$1.train.log"
  python3 "$here/engine_start.py" "$1" "$at" >>"$scratch/rows"
}

for round in $(seq "$rounds"); do
  mkdir -p "$scratch/alone"
  # shellcheck disable=SC2086
  $engine --stages "$scratch/alone/stages" --json "$scratch/alone/requests" >"$out/alone.engine.log" 2>&1
  python3 "$here/engine_start.py" alone "$scratch/alone" >>"$scratch/rows"
  measure slicing "" ""
  $cotenant up --policy strict --mode isolated >/dev/null || exit 2
  measure strict "$cotenant run --class high --name engine --" "$cotenant run --class best-effort --name training --"
  $cotenant down >/dev/null
done
cat "$scratch/rows"
python3 "$root/bench/live/result.py" "$out/engine-start.json" bench/engine/engine-start.sh "$@" <"$scratch/rows"
