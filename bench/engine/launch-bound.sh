#!/usr/bin/env bash
# Services that their CPU limits, beside trainings, without an objective: 170 s.
#   bench/engine/launch-bound.sh OUTDIR resnet50-eager+resnet50-train | generate+gpt2-train
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
node "$root/bin/cotenant" bench "$2" --load 0.25 --rounds 3 --requests 600 --seconds 8 --learn 40 \
  --arrangement time-slicing --arrangement mps-priority --arrangement strict-isolated --arrangement cotenant-isolated \
  --arrangement strict-isolated:holdAfterUs=2000,resumeDelayUs=0 ${COMMIT:+--commit "$COMMIT"} \
  --out "$out/launch-bound-$2.json" >"$out/launch-bound-$2.md"
