#!/usr/bin/env bash
# The test programs of test/interposer whose kernels have code for a real GPU, on one. Needs g++.
#   bench/live/cases.sh OUTDIR [program...]       writes OUTDIR/cases.txt; exits 1 if a case failed
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
programs=("$@")
[ ${#programs[@]} -gt 0 ] || programs=(graphs/graphs graphs/graph_parts graphs/graph_threads best_effort/preempt)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export COTENANT_TEST_PASS=$here/forms.sh
failed=0
: >"$out/cases.txt"
building=()
for program in "${programs[@]}"; do
  mkdir -p "$scratch/$(dirname "$program")"
  g++ -std=c++17 -O1 -fno-exceptions -I"$root/native" "$root/test/interposer/$program.cpp" -o "$scratch/$program" -ldl -pthread &
  building+=($!)
done
wait "${building[@]}"
for program in "${programs[@]}"; do
  while IFS= read -r name; do
    mkdir -p "$scratch/run"
    if said=$(COTENANT_SOFTGPU_DIR=$scratch/run LD_PRELOAD=${COTENANT_LIB:-$root/build/native/libcotenant.so} \
      timeout 20 "$scratch/$program" "$name" 2>&1); then verdict=ok; else verdict="FAILED ($?)" failed=1; fi
    echo "$verdict $program: $name${said:+: $said}" | tee -a "$out/cases.txt"
  done < <("$scratch/$program")
done
exit $failed
