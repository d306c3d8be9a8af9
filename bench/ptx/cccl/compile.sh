#!/bin/sh
# Makes FOLDER/cccl-sm_80 and FOLDER/cccl-sm_90 from the .cu files beside it: kernels of CUB and Thrust, for
# COTENANT_CORPORA=FOLDER npx tsx bench/ptx/verdicts.ts. Needs nvcc and CUDA_HOME (scripts/cuda-tools).
# Usage: compile.sh FOLDER
set -eu
folder=$(realpath -m "$1")
cd "$(dirname "$0")"
for arch in 80 90; do
  mkdir -p "$folder/cccl-sm_$arch"
  for source in *.cu; do
    flags=$(sed -n 's|^// nvcc: ||p' "$source" | head -1)
    # shellcheck disable=SC2086
    nvcc -ptx -arch="compute_$arch" -std=c++17 -Wno-deprecated-gpu-targets -I"$CUDA_HOME/include/cccl" $flags \
      -o "$folder/cccl-sm_$arch/${source%.cu}.ptx" "$source"
  done
done
