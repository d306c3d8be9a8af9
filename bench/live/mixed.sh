#!/usr/bin/env bash
# Measures what a service with requests of 60 ms pays beside a training that keeps the GPU's queue full of short and long kernels
# (mixed.cu), in modes isolated and mps: alone, beside, alone again. Some 50 s a mode.
#   bench/live/mixed.sh OUTDIR [MODE...]        writes OUTDIR/mixed.json
# Without nvcc: TRAINING is the command of a training; GPU=soft.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
[ $# -gt 0 ] || set -- isolated mps
scratch=$(mktemp -d)
export COTENANT_DIR=$scratch/agent
cotenant=$root/bin/cotenant
training=
finish() {
  [ -z "$training" ] || kill "$training" 2>/dev/null
  "$cotenant" down >/dev/null 2>&1
  rm -rf "$scratch"
}
trap finish EXIT
if [ -z "${TRAINING:-}" ]; then
  nvcc -O2 -arch=sm_90 -o "$scratch/mixed" "$here/mixed.cu" || exit 2
  TRAINING=$scratch/mixed
fi
fail() { echo "$1" >&2; tail -n 20 "$2" >&2; exit 1; }

serve() { # MODE WINDOW
  "$cotenant" run --class high --name service -- "$cotenant" load --kernels 600 --kernel-us 100 --arrivals uniform --rate 6.67 \
    --seconds "${SECONDS_EACH:-12}" --json >"$out/mixed-$1-$2.json" 2>"$out/mixed-$1-$2.err" || fail "the service failed" "$out/mixed-$1-$2.err"
}
for mode in "$@"; do
  "$cotenant" up --mode "$mode" ${GPU:+--gpu "$GPU"} >"$scratch/up" 2>&1 || fail "the agent did not start" "$scratch/up"
  serve "$mode" alone
  # shellcheck disable=SC2086
  "$cotenant" run --class best-effort --name mixed -- $TRAINING >"$out/mixed-$mode-training.log" 2>&1 &
  training=$!
  sleep 5
  kill -0 $training 2>/dev/null || fail "the training ended" "$out/mixed-$mode-training.log"
  serve "$mode" beside
  "$cotenant" status >"$out/mixed-$mode-status.txt" 2>&1
  kill $training && wait $training 2>/dev/null
  training=
  serve "$mode" again
  "$cotenant" down >/dev/null 2>&1
done
python3 - "$out" "$@" <<'PY'
import json, sys
from pathlib import Path

out, modes = Path(sys.argv[1]), sys.argv[2:]
rows = []
for mode in modes:
    windows = {name: json.loads((out / f"mixed-{mode}-{name}.json").read_text()) for name in ("alone", "beside", "again")}
    ratio = {
        f"{of} {part}": windows["beside"][of][part] / ((windows["alone"][of][part] + windows["again"][of][part]) / 2)
        for of in ("latencyUs", "serviceUs")
        for part in ("p50", "p95", "p99")
    }
    rows.append({"mode": mode, "windows": windows, "beside to the mean of both alone": ratio})
    print(mode, {name: round(value, 3) for name, value in ratio.items()})
(out / "mixed.json").write_text(json.dumps(rows, indent=1))
PY
