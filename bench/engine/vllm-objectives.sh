#!/usr/bin/env bash
# vLLM with objectives beside a training: alone, with fixed shares and with the policy, one after another on one engine.
#   bench/engine/vllm-objectives.sh OUTDIR start                    the engine, and limits from the first run alone
#   bench/engine/vllm-objectives.sh OUTDIR alone RATE               one more run alone, while no training runs
#   bench/engine/vllm-objectives.sh OUTDIR measure RATE SECONDS [PERIOD_US…]
#                                                                   alone, then beside the training: `cotenant` for SECONDS and
#                                                                   each fixed period of slices of 2 ms for a third of that
#   bench/engine/vllm-objectives.sh OUTDIR plain RATE SECONDS       beside the training by the defaults, with no objective
#   bench/engine/vllm-objectives.sh OUTDIR burst LOW HIGH           30 s at LOW, 40 s at HIGH, beside the training, with the limits
#                                                                   of HIGH, which must have run alone
#   bench/engine/vllm-objectives.sh OUTDIR long RATE                40 s, in which a prompt of 30,000 tokens comes after 15 s: alone
#                                                                   while no training runs, else beside it. The engine needs
#                                                                   ENGINE_OPTIONS="--max-model-len 32768"
#   bench/engine/vllm-objectives.sh OUTDIR rival RATE NAME SECONDS [VARIABLE=VALUE…]
#                                                                   beside a training that Cotenant does not run, with these variables:
#                                                                   time slicing; with MODE=mps MPS, and with CUDA_MPS_CLIENT_PRIORITY=1
#                                                                   or CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30 its other ways
#   bench/engine/vllm-objectives.sh OUTDIR rest                     ends the training
#   bench/engine/vllm-objectives.sh OUTDIR stop
# The engine outlives the command (setsid), so that several calls measure the same one. The limits of a rate come
# from its run alone. Each run has the same arrivals and lengths, and new token ids. For each run OUTDIR gets
# RATE-NAME.requests (a line of JSON for each request), .load (the table), .looks (looks.py) and .window (when it began and
# ended, in monotonic ns); the training's own log tells its throughput. vllm_objectives.py makes the table of them.
# MODEL is a folder for --load-format dummy, TRAINING the command of the training, ALONE_SECONDS the length of a run alone.
# TIMES, "2 1.5" by default, are the limits as parts of TTFT and TPOT alone, NAME that of the run with the policy.
# MODE=mps, from `start` on: under MPS, with the policy `cotenant` alone, since an agent that goes takes MPS with it.
# Without a GPU: GPU=soft HEALTH=v1/models SERVER="node --import tsx test/llm/stand-in.ts" and a TRAINING of the software GPU.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
cd "$root" || exit 2
port=${PORT:-8000} alone=${ALONE_SECONDS:-40}
export COTENANT_DIR=$out/agent
mkdir -p -m 700 "$COTENANT_DIR"

say() { echo "[$SECONDS s] $*"; }
cotenant() { node "$root/bin/cotenant" "$@"; }
agent() {
  [ "${MODE:-isolated}" = isolated ] || { cotenant status >/dev/null 2>&1 && return; set -- --mode "$MODE"; }
  cotenant down >>"$out/agent.txt" 2>&1
  cotenant up --gpu "${GPU:-auto}" "$@" >>"$out/agent.txt" 2>&1 || { tail -n 5 "$out/agent.txt"; exit 1; }
}
now() { python3 -c 'import time; print(time.monotonic_ns())'; }
fail() { # SENTENCE LOG
  say "$1"
  tail -n 25 "$2"
  exit 1
}

start_engine() {
  local command
  if [ -n "${SERVER:-}" ]; then
    read -ra command <<<"$SERVER --port $port"
  else
    read -rd '' -a command <<<"python3 -m vllm.entrypoints.openai.api_server --model ${MODEL:-/tmp/models/8b}
      --served-model-name m --load-format dummy --max-model-len 8192 --port $port --gpu-memory-utilization ${UTIL:-0.4}
      ${ENGINE_OPTIONS:-}"
  fi
  agent --policy strict
  # The limits are stated when they are known.
  setsid node "$root/bin/cotenant" run --class high --name vllm --slo ttft.p99=100s --slo tpot.p99=10s \
    --slo-metrics "http://127.0.0.1:$port/metrics" -- "${command[@]}" >"$out/vllm.log" 2>&1 &
  local engine=$!
  echo $engine >"$out/vllm.pid"
  until curl -sf -m 2 -o /dev/null "http://127.0.0.1:$port/${HEALTH:-health}"; do
    kill -0 $engine 2>/dev/null || fail "the engine died" "$out/vllm.log"
    [ $SECONDS -lt "${UP_WITHIN:-240}" ] || fail "the engine is not up" "$out/vllm.log"
    sleep 1
  done
  say "the engine serves"
}

run() { # RATE NAME SECONDS; the rate may be LOW-HIGH
  local file=$out/$1-$2 arrivals=(--rate "$1" --seconds "$3")
  [[ $1 == *-* ]] && arrivals=(--arrivals "steps:30s@${1%-*},40s@${1#*-}")
  now >"$file.window"
  python3 bench/engine/looks.py "$COTENANT_DIR" >"$file.looks" 2>/dev/null &
  local looks=$!
  cotenant load-llm --url "http://127.0.0.1:$port" "${arrivals[@]}" --prompt "${PROMPT:-lognormal:512,1}" \
    --output "${OUTPUT:-128}" --warm-up 0 --omit 0 --each "$file.requests" >"$file.load" 2>&1 || fail "load-llm failed" "$file.load"
  now >>"$file.window"
  kill $looks 2>/dev/null
  say "$1/s $2: $(grep -E 'TTFT|TPOT' "$file.load" | tr -s ' ' | tr '\n' ' ')"
}

long_prompt() { # FILE for the answer: one prompt of new token ids, 15 s from now
  sleep 15
  python3 -c 'import json, random
print(json.dumps({"model": "m", "prompt": random.choices(range(1000, 30000), k=30000), "max_tokens": 16, "ignore_eos": True}))' |
    curl -s -m 60 -o "$1" -w 'the long prompt: %{http_code} after %{time_total} s\n' -H 'Content-Type: application/json' -d @- \
      "http://127.0.0.1:$port/v1/completions"
}

limits_of() { # RATE: as arguments of `cotenant objective`
  python3 - "$out/$1-alone.requests" ${TIMES:-2 1.5} <<'PY'
import json, math, sys

rows = [json.loads(line) for line in open(sys.argv[1])]


def p99(key):
    values = sorted(row[key] for row in rows if row.get(key) is not None)
    return values[math.ceil(0.99 * len(values)) - 1]


ttft, tpot = map(float, sys.argv[2:])
print(f"ttft.p99={ttft * p99('ttftMs'):.2f}ms tpot.p99={tpot * p99('tpotMs'):.3f}ms")
PY
}

is_training() { [ -f "$out/training.pid" ] && kill -0 "$(cat "$out/training.pid")" 2>/dev/null; }
end_training() {
  is_training && kill -TERM -- "-$(cat "$out/training.pid")" && sleep 3
  rm -f "$out/training.pid"
}
start_training() { # [COMMAND… that runs the training's]: by default as a best-effort job
  is_training && return
  local command steps=0
  [ $# -gt 0 ] || set -- node "$root/bin/cotenant" run --class best-effort --name training --
  read -ra command <<<"${TRAINING:-python3 bench/engine/finetune.py}"
  [ -f "$out/training.log" ] && steps=$(grep -c " step " "$out/training.log")
  setsid "$@" "${command[@]}" >>"$out/training.log" 2>&1 &
  echo $! >"$out/training.pid"
  for _ in $(seq 60); do
    sleep 1
    [ "$(grep -c " step " "$out/training.log")" -gt "$steps" ] && break
    kill -0 "$(cat "$out/training.pid")" 2>/dev/null || fail "the training died" "$out/training.log"
  done
  sleep "${TRAINING_WARM_UP:-8}"
  say "the training runs: $(tail -n 1 "$out/training.log")"
}

measure() { # RATE SECONDS PERIOD_US…
  local rate=$1 seconds=$2 limits period
  shift 2
  if [ ! -f "$out/$rate-alone.requests" ]; then
    is_training && fail "run $rate alone before the training starts" "$out/training.log"
    run "$rate" alone "$alone"
  fi
  limits=$(limits_of "$rate") || exit 1
  echo "$limits" >"$out/$rate.limits"
  say "limits at $rate/s: $limits"
  start_training
  for period in "$@"; do
    agent --policy strict --set coRunSliceUs=2000 --set coRunEveryUs="$period"
    sleep 2
    run "$rate" "fixed-$period" $((seconds / 3))
    sleep 3
  done
  with_agent "$rate" "${NAME:-cotenant}" "$seconds" "$limits"
}

with_agent() { # RATE NAME SECONDS OBJECTIVE: a run beside an agent with its defaults
  agent
  sleep 2
  # shellcheck disable=SC2086
  cotenant objective vllm $4 || exit 1
  run "$1" "$2" "$3"
  cotenant status >"$out/$1-$2.status" 2>&1
  cotenant events >"$out/$1-$2.events" 2>&1
}

case ${2:-} in
  start)
    say "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo no GPU)"
    start_engine
    cotenant load-llm --url "http://127.0.0.1:$port" --rate 20 --prompt "${PROMPT:-lognormal:512,1}" --output "${OUTPUT:-128}" \
      --warm-up 48 --seconds 2 --omit 0 >"$out/warm.load" 2>&1 || fail "load-llm failed" "$out/warm.load"
    for rate in ${RATES:-4 12}; do run "$rate" alone "$alone"; done
    ;;
  alone) run "$3" alone "$alone" ;;
  measure) measure "${@:3}" ;;
  plain)
    start_training
    with_agent "$3" plain "$4" none
    ;;
  rival)
    end_training
    mps=()
    [ "${MODE:-isolated}" = mps ] && mps=("CUDA_MPS_PIPE_DIRECTORY=$COTENANT_DIR/mps")
    start_training env "${mps[@]}" "${@:6}"
    run "$3" "$4" "$5"
    end_training
    ;;
  long)
    limits=$(limits_of "$3") || exit 1
    long_prompt "$out/$3-long.answer" &
    prompt=$!
    if is_training; then with_agent "$3" long-cotenant 40 "$limits"; else run "$3" long-alone 40; fi
    wait $prompt
    ;;
  rest) end_training ;;
  burst)
    limits=$(limits_of "$4") || exit 1
    echo "$limits" >"$out/$3-$4.limits"
    is_training || run "$3-$4" alone 70
    start_training
    with_agent "$3-$4" cotenant 70 "$limits"
    ;;
  stop)
    for name in training vllm; do
      [ -f "$out/$name.pid" ] && kill -TERM -- "-$(cat "$out/$name.pid")" 2>/dev/null
    done
    cotenant down
    ;;
  *) sed -n '2,31s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
