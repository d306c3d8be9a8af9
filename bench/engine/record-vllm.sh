#!/usr/bin/env bash
# Records what vLLM does under Cotenant, segment by segment (segments.py), in several of its arrangements.
#   bench/engine/record-vllm.sh OUTDIR [VARIANT…]        5 minutes on an H200 with nothing compiled before
# Each VARIANT becomes OUTDIR/VARIANT-alone.json, the first also OUTDIR/VARIANT-shared.json, beside a training that has a
# fixed share; with each what `load-llm` measured, what the agent said, and vLLM's metrics before and after, whose
# vllm:iteration_tokens_total_count are its steps.
# The engines start side by side, without vLLM's profile of memory, which takes neighbours' memory for its own. They are
# measured one after another, the others idle. MODELS is a folder of models "8b" and "1b" for --load-format dummy,
# CACHE where compiled code is kept. TRAINING, SECONDS_EACH and DEADLINE (s, for all of it) replace the defaults.
# Without a GPU: GPU=soft HEALTH=v1/models SERVER="node --import tsx test/llm/stand-in.ts" and a TRAINING of the software GPU.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
cd "$root" || exit 2
variants=("$@")
[ $# -gt 0 ] || variants=(8b 1b-v2 1b-sync 1b-ngram 1b-eager)
first=${variants[0]}
models=${MODELS:-/tmp/models} cache=${CACHE:-/tmp/vllm-cache} each=${SECONDS_EACH:-15} deadline=${DEADLINE:-560}
training=${TRAINING:-python3 workloads/train.py --model gpt2-large --seconds 120}
export COTENANT_DIR=$out/agent
mkdir -p -m 700 "$COTENANT_DIR"
declare -A pids ports

say() { echo "[$SECONDS s] $*"; }
cotenant() { node "$root/bin/cotenant" "$@"; }
agent_up() { cotenant up --gpu "${GPU:-auto}" --policy strict --health lateness=off "$@" >>"$out/agent.txt" 2>&1; }
end() { # the process group that setsid made
  kill -TERM -- "-$1" 2>/dev/null && for _ in 1 2 3 4 5 6; do
    kill -0 -- "-$1" 2>/dev/null || return
    sleep 0.5
  done
  kill -KILL -- "-$1" 2>/dev/null
}
stop_all() {
  for pid in "${pids[@]}" ${trained:-}; do end "$pid"; done
  cotenant down >/dev/null 2>&1
}
trap stop_all EXIT

# The options that a variant adds to vLLM's command.
options() {
  case $1 in
    8b) echo --gpu-memory-utilization 0.4 --kv-cache-memory-bytes 24000000000 ;;
    1b*) echo --gpu-memory-utilization 0.05 --kv-cache-memory-bytes 8000000000 ;;&
    1b-sync) echo --no-async-scheduling ;;
    1b-eager) echo --enforce-eager ;;
    1b-ngram) echo --speculative-config '{"method":"ngram","num_speculative_tokens":3,"prompt_lookup_max":4}' ;;
  esac
}
start() { # VARIANT PORT
  local command variables=(VLLM_CACHE_ROOT="$cache/$1" TRITON_CACHE_DIR="$cache/$1/triton")
  if [ -n "${SERVER:-}" ]; then
    read -ra command <<<"$SERVER --port $2"
  else
    read -rd '' -a command <<<"python3 -m vllm.entrypoints.openai.api_server --model $models/${1%%-*} --served-model-name m
      --load-format dummy --max-model-len 8192 --port $2 $(options "$1")"
  fi
  [ "$1" = 1b-v2 ] && variables+=(VLLM_USE_V2_MODEL_RUNNER=1)
  setsid env "${variables[@]}" node "$root/bin/cotenant" run --class high --name "$1" -- "${command[@]}" >"$out/$1.log" 2>&1 &
  pids[$1]=$! ports[$1]=$2
}
serves() { curl -sf -m 2 -o /dev/null "http://127.0.0.1:${ports[$1]}/${HEALTH:-health}"; }

# The slot of the client of a name that has launched most: its parent process may have one, too.
slot_of() {
  cotenant status --json | python3 -c '
import json, sys
clients = [client for gpu in json.load(sys.stdin)["gpus"] for client in gpu["high"] if client["name"] == sys.argv[1]]
print(max(clients, key=lambda client: client.get("launches") or 0)["slot"])' "$1"
}
load() { # VARIANT, then further options
  cotenant load-llm --url "http://127.0.0.1:${ports[$1]}" --rate 4 --prompt lognormal:512,1 --output 128 "${@:2}"
}
record() { # VARIANT FILE
  local slot agent
  slot=$(slot_of "$1") || { say "$1 has no slot"; return 1; }
  agent=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["pid"])' "$COTENANT_DIR/agent.json")
  curl -sf "http://127.0.0.1:${ports[$1]}/metrics" >"$out/$2-before.metrics"
  python3 bench/engine/segments.py --agent "$agent" --slot "$slot" --seconds $((each + 5)) "$out/$2.json" &
  local recorder=$!
  load "$1" --warm-up 0 --omit 2 --seconds "$each" --each "$out/$2.requests" >"$out/$2.load" 2>&1 || say "load-llm failed"
  cotenant status --json >"$out/$2.status" 2>&1
  wait $recorder || return 1
  curl -sf "http://127.0.0.1:${ports[$1]}/metrics" >"$out/$2-after.metrics"
  say "$2"
  cat "$out/$2.load"
}

say "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo no GPU)"
agent_up || { cat "$out/agent.txt"; exit 1; }
port=${PORT:-8000}
for variant in "${variants[@]}"; do start "$variant" $((port++)); done

waiting=("${variants[@]}")
while [ ${#waiting[@]} -gt 0 ] && [ $SECONDS -lt $((deadline - 230)) ]; do
  sleep 1
  left=()
  for variant in "${waiting[@]}"; do
    if serves "$variant"; then
      say "$variant serves"
    elif kill -0 "${pids[$variant]}" 2>/dev/null; then
      left+=("$variant")
    else
      say "$variant died:"
      tail -n 25 "$out/$variant.log"
      unset "pids[$variant]"
    fi
  done
  waiting=("${left[@]}")
done
for variant in "${waiting[@]}"; do
  say "$variant is not up:"
  tail -n 10 "$out/$variant.log"
  end "${pids[$variant]}"
  unset "pids[$variant]"
done
[ -n "${pids[$first]:-}" ] || exit 1

for variant in "${variants[@]}"; do
  [ -n "${pids[$variant]:-}" ] || continue
  if [ "$variant" != "$first" ] && [ $SECONDS -gt $((deadline - 130)) ]; then
    say "no time for $variant"
  else
    load "$variant" --warm-up 16 --omit 0 --seconds 1 >"$out/$variant.warm" 2>&1 || cat "$out/$variant.warm"
    record "$variant" "$variant-alone"
  fi
  [ "$variant" = "$first" ] && continue
  end "${pids[$variant]}"
  unset "pids[$variant]"
done

cotenant down >>"$out/agent.txt" 2>&1
agent_up --set coRunSliceUs=2000 --set coRunEveryUs=6670 || { cat "$out/agent.txt"; exit 1; }
read -ra command <<<"$training"
setsid node "$root/bin/cotenant" run --class best-effort --name training -- "${command[@]}" >"$out/training.log" 2>&1 &
trained=$!
for _ in $(seq 60); do
  sleep 1
  cotenant status --json | python3 -c '
import json, sys
sys.exit(not any((job.get("launches") or 0) > 20000 for gpu in json.load(sys.stdin)["gpus"] for job in gpu["bestEffort"]))' && break
  kill -0 $trained 2>/dev/null || { say "the training died:"; tail -n 25 "$out/training.log"; exit 1; }
done
say "the training runs"
record "$first" "$first-shared"
tail -n 5 "$out/training.log"
grep -in cotenant "$out"/*.log | grep -v "cotenant run" | head -n 40
exit 0
