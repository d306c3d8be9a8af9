#!/usr/bin/env bash
# Why are a pair's slowest bursts slow? Each pair runs once; what its best-effort clients wrote down is looked at.
#   bench/live/slow-bursts.sh OUTDIR PAIR[:RATE]...      writes OUTDIR/slow-bursts.json, and OUTDIR/PAIR.csv: every burst
# PAIR is HIGH+BEST-EFFORT[+BEST-EFFORT...] of bench/jobs.json, RATE requests a second (64). MODE: isolated or mps; SECONDS_EACH (20) without
# announcements, a third of that with; the service starts when the best-effort jobs are ready.
# RULES: rules to fix, such as "renewUs=0 chunkUs=100"; DIARIES: a folder that keeps what they wrote down. GPU=soft tries it on the software GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
seconds=${SECONDS_EACH:-20}
lead=3  # the silence after the service's own start, by which slow_bursts.py tells that from requests
quiet=$((seconds / 3))
limit=$((100 + lead + seconds + quiet))
scratch=$(mktemp -d)
diaries=${DIARIES:-$scratch/diaries}
mkdir -p "$diaries"
export COTENANT_DIR=$scratch/agent
cotenant="node $root/bin/cotenant"
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
  $cotenant down >/dev/null 2>&1
  rm -rf "$scratch"
}
trap finish EXIT

command_of() { # JOB
  python3 - "$root" "$1" <<'PY'
import json, sys
root, job = sys.argv[1:]
run = json.load(open(f"{root}/bench/jobs.json"))[job]["run"]
print(run.replace("{workloads}", f"{root}/workloads").replace("{cotenant}", f"node {root}/bin/cotenant"))
PY
}

arrivals() { # RATE FROM SECONDS
  python3 - "$root" "$@" <<'PY'
import sys
sys.path.insert(0, f"{sys.argv[1]}/workloads")
from openloop import poisson
rate, begin, seconds = map(float, sys.argv[2:])
for at in poisson(rate, seconds, 1):
    print(int(at + begin * 1e9))
PY
}

serve() { # JOB FILE ANNOUNCE-US
  local command
  command=$(command_of "$1")
  case $command in
    *"cotenant load"*) command="$command --arrivals file:$2 --seconds $limit" ;;
    *) command="$command --arrivals file:$2 --announce-us $3" ;;
  esac
  # shellcheck disable=SC2086
  timeout "$limit" $cotenant run --class high --name "high$3" -- $command
}

for each in "$@"; do
  pair=${each%%:*}
  rate=64
  [ "$each" = "$pair" ] || rate=${each##*:}
  IFS=+ read -r -a jobs <<<"$pair"
  # shellcheck disable=SC2086
  $cotenant up --policy strict --mode "${MODE:-isolated}" ${GPU:+--gpu "$GPU"} $(for rule in ${RULES:-}; do echo "--set $rule"; done) >"$out/$pair.log" 2>&1 || { cat "$out/$pair.log"; exit 2; }
  arrivals "$rate" "$lead" "$seconds" >"$scratch/found"
  arrivals "$rate" $((lead + seconds + 1)) "$quiet" >"$scratch/announced"
  others=()
  for ((i = 1; i < ${#jobs[@]}; i++)); do
    command=$(command_of "${jobs[$i]}")
    [[ $command != *"cotenant load"* ]] || command="$command --arrivals closed"
    # shellcheck disable=SC2086
    COTENANT_DEBUG=1 COTENANT_CHUNKS=$diaries/$pair.$i timeout "$limit" $cotenant run --class best-effort --name "other$i" -- \
      $command --seconds "$limit" >>"$out/$pair.$i.log" 2>&1 &
    others+=($!)
  done
  pids=("${others[@]}")
  for ((i = 1; i < ${#jobs[@]}; i++)); do
    for _ in $(seq 450); do grep -qE "ready|serving" "$out/$pair.$i.log" && break; sleep 0.1; done
  done
  serve "${jobs[0]}" "$scratch/found" 0 >>"$out/$pair.log" 2>&1 & first=$!
  serve "${jobs[0]}" "$scratch/announced" 1000 >>"$out/$pair.log" 2>&1 & second=$!
  pids+=("$first" "$second")
  wait "$first" "$second"
  $cotenant status --json >"$out/$pair.status.json" 2>/dev/null
  for pid in "${others[@]}"; do kill "$pid" 2>/dev/null; done
  wait "${others[@]}" 2>/dev/null
  pids=()
  $cotenant down >/dev/null 2>&1
  written=$(find "$diaries" -name "$pair.*" ! -name "*.names" | sort | paste -sd,)
  python3 "$here/slow_bursts.py" "$pair=$written" --all "$out/$pair.csv" >>"$scratch/rows" 2>>"$out/$pair.log" ||
    head -c 24000000 "${written%%,*}" | gzip >"$out/$pair.diary.gz"
  [ -n "${DIARIES:-}" ] || rm -f "$diaries/$pair".*
  python3 "$here/result.py" "$out/slow-bursts.json" bench/live/slow-bursts.sh "$@" <"$scratch/rows"
done
