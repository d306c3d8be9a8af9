#!/usr/bin/env bash
# The cost of stopping inside, and how soon it comes, on this machine's GPU: `inside` of the kernels beside it, under
# the interposer. Needs nvcc and `npm run native`.
# bench/live/run.sh OUTDIR [graphs] writes OUTDIR/inside.jsonl as it goes, and inside.json; graphs: those alone
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
nvcc -ptx -arch=sm_90 "$here/kernels.cu" -o "$scratch/kernels.ptx" || exit 2
COTENANT_DEBUG=1 COTENANT_TEST_PASS=$here/forms.sh COTENANT_SOFTGPU_DIR=$scratch \
  LD_PRELOAD=${COTENANT_LIB:-$root/build/native/libcotenant.so} "$root/build/native/bench/live/inside" "$scratch/kernels.ptx" ${2:+"$2"} >"$out/inside.jsonl" 2>"$out/inside.err"
status=$?
python3 "$here/result.py" "$out/inside.json" bench/live/run.sh ${2:+"$2"} <"$out/inside.jsonl"
exit $status
