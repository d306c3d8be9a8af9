#!/usr/bin/env bash
# What Nsight Compute says of the bench's jobs: one launch of every distinct kernel, of those that make up nine
# tenths of a request's or iteration's time. Two jobs at a time: while one is looked at the next one loads.
#   bench/profiles/classes.sh FOLDER SECONDS
# After SECONDS every job is told to end, and what was looked at until then stands. `npx tsx
# bench/profiles/classes.ts FOLDER` puts what was found into the profiles.
set -uo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "${1:?folder}"
folder=$(realpath "$1") seconds=${2:?seconds}
ncu=$(command -v ncu || echo /usr/local/cuda/bin/ncu)
of_peak=avg.pct_of_peak_sustained_elapsed
op=smsp__sass_thread_inst_executed_op
metrics=(
  gpu__time_duration.sum "sm__throughput.$of_peak" "gpu__compute_memory_throughput.$of_peak"
  "gpu__dram_throughput.$of_peak" lts__t_sector_hit_rate.pct dram__bytes.sum sm__inst_executed_pipe_tensor.sum
  ${op}_fadd_pred_on.sum ${op}_fmul_pred_on.sum ${op}_ffma_pred_on.sum launch__registers_per_thread
  launch__shared_mem_per_block_static launch__shared_mem_per_block_dynamic
  device__attribute_display_name device__attribute_multiprocessor_count
)
serve="workloads/serve.py --requests 1 --seconds 600 --form graph --batch 4"
train="workloads/train.py --iterations 1 --seconds 600"
jobs="bert-train $train --model bert-large --batch 8 --sequence 384 --dtype fp32
bert-graph $serve --model bert-large --sequence 128 --dtype bf16
gpt2-train $train --model gpt2-large --batch 8 --sequence 512 --dtype autocast
resnet50-train $train --model resnet50 --batch 64 --dtype autocast
resnet50-graph $serve --model resnet50 --dtype fp32"

names() { # a regular expression for a profile's kernels, the longest first, without those of the last tenth
  python3 -c '
import collections, json, re, sys
profile = json.load(open(sys.argv[1]))
time = collections.Counter()
for step in profile["sequence"]:
    if "kernel" in step:
        kernel = profile["kernels"][step["kernel"]]
        time[kernel["name"]] += kernel["durationNs"]["p50"]
left, some = 0.9 * sum(time.values()), []
for name, ns in time.most_common():
    if left > 0:
        some.append(re.escape(name))
    left -= ns
print("^(" + "|".join(some) + ")$")' "$1"
}

look() { # job, program and options
  local job=$1
  shift
  # The job is told to end inside ncu, which then writes what it has.
  "$ncu" --csv --page raw --target-processes all --clock-control none --check-exit-code no \
    --filter-mode per-launch-config --launch-count 1 --kernel-name-base mangled --print-kernel-base mangled \
    --kernel-name "regex:$(names "bench/profiles/h200/$job.json")" \
    --metrics "$(IFS=,; echo "${metrics[*]}")" --log-file "$folder/$job.csv" \
    timeout -k 4 "$((seconds > SECONDS ? seconds - SECONDS : 1))" python3 "$@" >"$folder/$job.log" 2>&1 </dev/null
  echo "$SECONDS s: $job ended with $?, $(grep -c '^"[0-9]' "$folder/$job.csv") launches"
}

running=0
while read -r job; do
  [ "$running" -lt 2 ] || wait -n
  [ "$SECONDS" -lt "$seconds" ] || break
  # shellcheck disable=SC2086
  look $job &
  running=$((running + 1))
done <<<"$jobs"
wait
