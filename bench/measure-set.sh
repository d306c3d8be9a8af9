#!/usr/bin/env bash
# Measures the lines of a set (bench/sets/NAME.txt), one after the other on each GPU of the machine, GPUs side
# by side, each with its share of the CPUs. What has a result already is left out, so results accumulate over
# calls.
#   bench/measure-set.sh headline results/ [--seconds 540]     --seconds: per line, then it ends early
set -euo pipefail
cd "$(dirname "$0")/.."
set_name=${1:?set} folder=${2:?folder of results} limit=3600
[ "${3:-}" = --seconds ] && limit=${4:?seconds}
mkdir -p "$folder"
gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
share=$(($(nproc) / gpus))

measure() { # GPU, line: "NAME: arguments of cotenant bench"
  local gpu=$1 name=${2%%:*} arguments
  read -ra arguments <<<"${2#*:}"
  timeout -s TERM "$limit" taskset -c $((gpu * share))-$(((gpu + 1) * share - 1)) \
    node bin/cotenant bench "${arguments[@]}" --gpu "$gpu" ${COMMIT:+--commit "$COMMIT"} \
    --out "$folder/$name.json" --raw "$folder/$name.raw.json" >"$folder/$name.md" 2>"$folder/$name.log" ||
    echo "$name: ended with $?: $(tail -n 1 "$folder/$name.log")"
}

mapfile -t lines < <(grep -v '^#' "bench/sets/$set_name.txt" | grep .)
todo=()
for line in "${lines[@]}"; do [ -e "$folder/${line%%:*}.json" ] || todo+=("$line"); done
for ((gpu = 0; gpu < gpus; gpu++)); do
  for ((i = gpu; i < ${#todo[@]}; i += gpus)); do measure "$gpu" "${todo[i]}"; done &
done
wait
