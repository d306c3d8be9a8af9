#!/bin/sh
# Makes FOLDER/hopper-sm_90a from the .cu files beside it: mainloops for Hopper whose headers FlashInfer's wheel brings, for
# COTENANT_CORPORA=FOLDER npx tsx bench/ptx/verdicts.ts. Needs nvcc and CUDA_HOME (scripts/cuda-tools) and pip; the wheel has
# 100 MB. Usage: compile.sh FOLDER
set -eu
folder=$(realpath -m "$1")
cd "$(dirname "$0")"
headers=$folder/.headers
if [ ! -e "$headers/complete" ]; then
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target "$headers" \
    "flashinfer-python==0.7.4"
  touch "$headers/complete"
fi
data=$headers/flashinfer/data
mkdir -p "$folder/hopper-sm_90a"
for source in *.cu; do
  nvcc -ptx -arch=compute_90a -std=c++17 --expt-relaxed-constexpr -w \
    -I"$data/cutlass/include" -I"$data/include" -I"$data/csrc/nv_internal" -I"$CUDA_HOME/include/cccl" \
    -o "$folder/hopper-sm_90a/${source%.cu}.ptx" "$source"
done
