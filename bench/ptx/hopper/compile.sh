#!/bin/sh
# Makes FOLDER/hopper-sm_90a: mainloops for Hopper, from sources that PyPI serves, for
# COTENANT_CORPORA=FOLDER npx tsx bench/ptx/verdicts.ts. The .cu files beside it are for the headers of FlashInfer's wheel
# (CUTLASS, DeepGEMM, FlashAttention-3); triton_kernels.py is for the newest Triton. Lists what it has made. Wheels of 170 MB
# go to a cache outside the tree. Needs nvcc and CUDA_HOME (scripts/cuda-tools), pip and COTENANT_TRITON (scripts/triton).
# Usage: compile.sh FOLDER [NAME...], where NAME is a .cu file or "triton"; by default all that is not there.
set -eu
folder=$(realpath -m "$1")
shift
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cotenant/hopper
flashinfer=0.7.4
headers=$cache/flashinfer-$flashinfer
if [ ! -e "$headers/complete" ]; then
  rm -rf "$headers"
  # FlashInfer includes a part of CUTLASS that names cuRAND.
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target "$headers" \
    "flashinfer-python==$flashinfer" "nvidia-curand==10.4.*"
  touch "$headers/complete"
fi
data=$headers/flashinfer/data
mkdir -p "$folder/hopper-sm_90a"
[ $# -gt 0 ] || set -- *.cu triton
failed=0
for name; do
  if [ "$name" = triton ]; then
    PYTHONPATH=$COTENANT_TRITON python3 triton_kernels.py "$folder/hopper-sm_90a"
    continue
  fi
  out=$folder/hopper-sm_90a/$(basename "$name" .cu).ptx
  [ -e "$out" ] && continue
  nvcc -ptx -arch=compute_90a -std=c++17 --expt-relaxed-constexpr -w -DNDEBUG \
    -I"$data/cutlass/include" -I"$data/cutlass/tools/util/include" -I"$data/include" -I"$data/csrc" \
    -I"$data/csrc/nv_internal" -I"$data/cccl/libcudacxx/include" -I"$data/cccl/cub" -I"$data/cccl/thrust" \
    -I"$headers/nvidia/cu13/include" -o "$out.new" "$(basename "$name" .cu).cu" && mv "$out.new" "$out" ||
    { echo "compile.sh: nvcc did not compile $name" >&2; failed=1; }
done
# The entries of each file.
grep -c "^\.visible \.entry\|^\.entry" "$folder/hopper-sm_90a"/*.ptx
exit $failed
