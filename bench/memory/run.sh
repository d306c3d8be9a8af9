#!/usr/bin/env bash
# Measures movable memory on this machine's GPU. Needs PyTorch, Node and `npm run native`.
#   bench/memory/run.sh OUTDIR PART [options]     PART: park, trainings, ...: a Python file beside this
# Writes OUTDIR/PART.json. `--soft` measures on the software GPU, whose times are invented, without PyTorch.
set -u
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
part=$2
shift 2
timeout "${LIMIT:-280}" python3 "$here/$part.py" "$@" >"$out/$part.rows" 2>"$out/$part.log"
status=$?
python3 "$here/../live/result.py" "$out/$part.json" bench/memory/run.sh "$part" "$@" <"$out/$part.rows"
cat "$out/$part.rows"
tail -n 5 "$out/$part.log" >&2
exit $status
