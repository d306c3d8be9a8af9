#!/usr/bin/env bash
# Do programs compute the same when requests stop them inside their kernels and graphs? Each runs natively and as a
# best-effort client beside a service; digests are compared, and what the agent counted is kept.
#   bench/live/same.sh OUTDIR [program...]      programs: long graph load triton (these four unless said), triton-long,
# train-MODEL, serve-MODEL of workloads/models; eight at most, for so many best-effort clients there may be
# Writes OUTDIR/same.json; exits 1 if a digest differs or a program failed. LIMIT: seconds for each run (90); GRAPHS: how
# graphs stop, nodes or parts (parts).
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
programs=("$@")
[ ${#programs[@]} -gt 0 ] || programs=(long graph load triton)
limit=${LIMIT:-90}
scratch=$(mktemp -d)
export COTENANT_DIR=$scratch/agent
cotenant=$root/bin/cotenant
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
  "$cotenant" down >/dev/null 2>&1
  rm -rf "$scratch"
}
trap finish EXIT

command_of() {
  case $1 in
    long) echo "$scratch/long" ;;
    graph) echo "python3 $root/workloads/serve.py --model bert-large --batch 64 --sequence 384 --form graph --digest --requests 30" ;;
    load) echo "$cotenant load --kernels 10 --kernel-us 5000 --waves 50 --arrivals closed --depth 2 --seconds 5 --json" ;;
    train-*) echo "python3 $root/workloads/train.py --model ${1#train-} --losses 8 --iterations 8" ;;
    serve-*) echo "python3 $root/workloads/serve.py --model ${1#serve-} --form graph --digest --requests 200" ;;
    triton-long) echo "python3 $here/triton_long.py" ;;
    triton) echo "python3 $root/workloads/train.py --model pointnet --batch 256 --compile --losses 30 --iterations 30" ;;
  esac
}
# The load checks itself.
digest_of() { grep -oE '^digest [0-9a-f]+|"intact": *true' "$1" | head -n 1; }

if printf '%s\n' "${programs[@]}" | grep -qx long; then nvcc -O2 -arch=sm_90 -o "$scratch/long" "$here/long.cu" || exit 2; fi
"$cotenant" up --policy strict --set preemptUs=200 --set graphGates=${GRAPHS:-parts} ${GPU:+--gpu "$GPU"} >"$out/same-agent.log" 2>&1 || { cat "$out/same-agent.log"; exit 2; }
"$cotenant" run --class high --name service -- "$cotenant" load --kernels 20 --kernel-us 100 --arrivals poisson --rate 60 \
  --seconds 600 >"$scratch/high" 2>&1 &
pids+=($!)
(while sleep 2; do "$cotenant" status --json 2>/dev/null | tr -d '\n' && echo; done) >"$out/same-status.jsonl" &
pids+=($!)
for _ in $(seq 100); do grep -q serving "$scratch/high" && break; sleep 0.1; done

one() { # program, native or shared
  local program=$1 command
  command=$(command_of "$program")
  export TORCHINDUCTOR_CACHE_DIR=$scratch/$2 TRITON_CACHE_DIR=$scratch/$2/triton
  if [ "$2" = native ]; then
    # shellcheck disable=SC2086
    timeout "$limit" $command >"$scratch/$program.native" 2>"$out/same-$program.native.err"
  else
    # shellcheck disable=SC2086
    COTENANT_DEBUG=1 timeout "$limit" \
      "$cotenant" run --class best-effort --name "$program" -- $command >"$scratch/$program.shared" 2>"$out/same-$program.err"
  fi
  echo "$program, $2: $(digest_of "$scratch/$program.$2") after $SECONDS s"
}
running=()
for program in "${programs[@]}"; do
  one "$program" native & running+=($!)
  one "$program" shared & running+=($!)
done
wait "${running[@]}"

for program in "${programs[@]}"; do
  printf '%s\t%s\t%s\n' "$program" "$(digest_of "$scratch/$program.native")" "$(digest_of "$scratch/$program.shared")"
done >"$scratch/digests"
python3 - "$scratch/digests" "$out/same-status.jsonl" <<'PY' >"$scratch/rows"
import json, sys

counted = {}
for line in open(sys.argv[2]):
    try:
        status = json.loads(line)
    except ValueError:
        continue
    for gpu in status["gpus"]:
        for client in gpu["bestEffort"]:
            counted[client["name"]] = {key: client.get(key) for key in ("preemptible", "graphGates", "launches", "graphs")}
rows = []
for line in open(sys.argv[1]):
    program, native, shared = line.rstrip("\n").split("\t")
    same = bool(native) and native == shared
    rows.append({"program": program, "same": same, "native": native, "bestEffort": shared, "counted": counted.get(program)})
    print(json.dumps(rows[-1]))
sys.exit(not all(row["same"] for row in rows))
PY
status=$?
cat "$scratch/rows"
python3 "$here/result.py" "$out/same.json" bench/live/same.sh "${programs[@]}" <"$scratch/rows"
exit $status
