#!/usr/bin/env bash
# Compiles jobs of the catalogue (bench/jobs.json) once, as best-effort clients, so that Triton's caches hold their kernels
# with the forms that can stop inside. Prints what to export, so that the jobs of a bench find them there, whoever starts
# first: a process that compiles without an agent would leave kernels without forms in the cache for all.
#   exports=$(bench/live/compile.sh FOLDER pointnet-compile-train bert-triton-train) && eval "$exports"
# FOLDER: where the caches are, or will be. LIMIT: seconds for all of it (120).
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 2
shift
export COTENANT_DIR=$folder/agent TRITON_PTXAS_PATH=$root/bin/cotenant-ptxas
export TORCHINDUCTOR_CACHE_DIR=$folder/inductor TRITON_CACHE_DIR=$folder/triton
COTENANT_PTXAS=${COTENANT_PTXAS:-$(python3 -c "
import importlib.util, os
triton = importlib.util.find_spec('triton')
print(os.path.join(os.path.dirname(triton.origin), 'backends/nvidia/bin/ptxas') if triton else 'ptxas')")}
export COTENANT_PTXAS
cotenant=$root/bin/cotenant
"$cotenant" up --policy strict ${GPU:+--gpu "$GPU"} >"$folder/agent.log" 2>&1 || { cat "$folder/agent.log" >&2; exit 2; }
trap '"$cotenant" down >/dev/null 2>&1' EXIT
status=0
running=()
for job in "$@"; do
  command=$(python3 -c "
import json, sys
print(json.load(open(sys.argv[1]))[sys.argv[2]]['run'].replace('{workloads}', sys.argv[3]))" "$root/bench/jobs.json" "$job" "$root/workloads") || exit 2
  # shellcheck disable=SC2086
  timeout "${LIMIT:-120}" "$cotenant" run --class best-effort --name "$job" -- $command --iterations 3 >"$folder/$job.log" 2>&1 &
  running+=($!)
done
for pid in "${running[@]}"; do wait "$pid" || status=1; done
[ $status -eq 0 ] || tail -n 3 "$folder"/*.log >&2
for name in TRITON_PTXAS_PATH COTENANT_PTXAS TORCHINDUCTOR_CACHE_DIR TRITON_CACHE_DIR; do echo "export $name='${!name}'"; done
exit $status
