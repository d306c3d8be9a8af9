#!/usr/bin/env bash
# Do programs compute the same with and without the interposer? Runs each program here three times at once
# (native, as a high client, as a best-effort one) beside the running agent and compares their digests.
#   workloads/compat/run.sh OUTDIR [program...]     programs: eager graph compile cupy jax plain nvrtc
# Writes OUTDIR/compat.json; exits 1 if some digest differs or some program failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=$1
shift
programs=("$@")
[ ${#programs[@]} -gt 0 ] || programs=(eager graph compile cupy jax plain)
cotenant=${COTENANT:-cotenant}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

command_of() {
  case $1 in
    cupy | jax) echo "python3 $here/$1_client.py" ;;
    plain) echo "$scratch/plain" ;;
    *) echo "python3 $here/$1.py" ;;
  esac
}

if printf '%s\n' "${programs[@]}" | grep -qx plain; then nvcc -O2 -arch=native -o "$scratch/plain" "$here/plain.cu" || exit 1; fi

failed=0
rows=()
for program in "${programs[@]}"; do
  command=$(command_of "$program")
  # shellcheck disable=SC2086
  timeout 100 $command >"$scratch/native" 2>"$scratch/native.err" &
  # shellcheck disable=SC2086
  timeout 100 $cotenant run --class high --name "$program-high" -- $command >"$scratch/high" 2>"$scratch/high.err" &
  # shellcheck disable=SC2086
  timeout 100 $cotenant run --class best-effort --name "$program-be" -- $command >"$scratch/be" 2>"$scratch/be.err" &
  sleep 6
  $cotenant status --json >"$scratch/status" 2>/dev/null
  wait
  digests=()
  for variant in native high be; do
    digests+=("$(grep -oE '^digest [0-9a-f]+' "$scratch/$variant" | head -n 1)")
    [ -n "${digests[-1]}" ] || { echo "$program $variant failed:"; tail -n 5 "$scratch/$variant.err"; }
  done
  same=false
  [ -n "${digests[0]}" ] && [ "${digests[0]}" = "${digests[1]}" ] && [ "${digests[0]}" = "${digests[2]}" ] && same=true
  $same || failed=1
  echo "$program: identical=$same ${digests[0]}"
  rows+=("{\"program\":\"$program\",\"identical\":$same,\"native\":\"${digests[0]}\",\"high\":\"${digests[1]}\",\"bestEffort\":\"${digests[2]}\",\"status\":$(cat "$scratch/status" 2>/dev/null || echo null)}")
done
printf '[%s]\n' "$(IFS=,; echo "${rows[*]}")" >"$out/compat.json"
exit $failed
