#!/usr/bin/env bash
# Measures the lines of a set (a file such as bench/sets/headline.txt). Every GPU of the machine takes the next
# line when it is free, with its share of the CPUs; put the long ones first. What has a result already is left
# out, so results accumulate over calls.
#   bench/measure-set.sh bench/sets/headline.txt results/ [SECONDS]
# After so many seconds every measurement is told to end and keeps the rounds that it has; none is begun in the
# last 150.
set -euo pipefail
cd "$(dirname "$0")/.."
set_file=${1:?set} folder=${2:?folder for results} limit=${3:-86400}
mkdir -p "$folder"
gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
share=$(($(nproc) / gpus))
queue=$(mktemp)

while IFS= read -r line; do
  [ -e "$folder/${line%%:*}.json" ] || echo "$line"
done < <(grep -v '^#' "$set_file" | grep .) >"$queue"

next() { # takes the first line of the queue
  local line
  exec 9<"$queue.lock"
  flock 9
  line=$(head -n 1 "$queue")
  sed -i 1d "$queue"
  exec 9<&-
  printf %s "$line"
}

measure() { # GPU, "NAME: arguments of cotenant-lab bench", seconds left
  local gpu=$1 name=${2%%:*} arguments
  read -ra arguments <<<"${2#*:}"
  timeout -s TERM "$3" taskset -c $((gpu * share))-$(((gpu + 1) * share - 1)) \
    node bin/cotenant-lab bench "${arguments[@]}" --gpu "$gpu" ${COMMIT:+--commit "$COMMIT"} \
    --out "$folder/$name.json" --raw "$folder/$name.raw.json" >"$folder/$name.md" 2>"$folder/$name.log" ||
    echo "$name: ended with $?: $(tail -n 1 "$folder/$name.log")"
}

touch "$queue.lock"
trap 'rm -f "$queue" "$queue.lock"' EXIT
for ((gpu = 0; gpu < gpus; gpu++)); do
  while left=$((limit - SECONDS)) && [ "$left" -gt 150 ] && line=$(next) && [ -n "$line" ]; do
    measure "$gpu" "$line" "$left"
  done &
done
wait
