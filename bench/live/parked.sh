#!/usr/bin/env bash
# The price that a high client pays for stopped work in isolated mode, by where that work waits: `parked`. Needs `npm
# run native`.
# bench/live/parked.sh OUTDIR [ROUNDS] writes OUTDIR/parked.json
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$root/build/native/bench/live/parked" "${2:-2}" >"$scratch/rows"
status=$?
cat "$scratch/rows"
python3 "$here/result.py" "$out/parked.json" bench/live/parked.sh <"$scratch/rows"
exit $status
