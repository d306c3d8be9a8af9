#!/bin/sh
# Makes FOLDER/cutlass-sm_80 and FOLDER/cutlass-sm_90 from examples of CUTLASS 4.2 as NVIDIA published them, for
# COTENANT_CORPORA=FOLDER npx tsx bench/ptx/verdicts.ts. Needs nvcc and CUDA_HOME (scripts/cuda-tools) and pip; an example
# takes up to some minutes. Usage: compile.sh FOLDER [EXAMPLE...]
set -eu
folder=$(realpath -m "$1")
shift
mkdir -p "$folder"
headers=$folder/.headers
if [ ! -e "$headers/complete" ]; then
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target "$headers" \
    "nvidia-cutlass==4.2.0.0" "nvidia-curand==10.4.*"
  touch "$headers/complete"
fi
examples=$headers/cutlass_library/source/examples
# One of each kind of mainloop and of scheduling.
[ $# -gt 0 ] || set -- \
  14_ampere_tf32_tensorop_gemm 48_hopper_warp_specialized_gemm 05_batched_gemm 06_splitK_gemm \
  47_ampere_gemm_universal_streamk 54_hopper_fp8_warp_specialized_gemm 24_gemm_grouped 16_ampere_tensorop_conv2dfprop \
  cute/tutorial/hopper 15_ampere_sparse_tensorop_gemm 35_gemm_softmax 57_hopper_grouped_gemm \
  18_ampere_fp64_tensorop_affine2_gemm 32_basic_trmm 36_gather_scatter_fusion \
  61_hopper_gemm_with_topk_and_softmax 27_ampere_3xtf32_fast_accurate_tensorop_gemm 45_dual_gemm
for example; do
  case $example in *hopper*) arch=90a name=90 ;; *) arch=80 name=80 ;; esac
  mkdir -p "$folder/cutlass-sm_$name"
  for source in "$examples/$example"/*.cu; do
    out=$folder/cutlass-sm_$name/$(basename "${source%.cu}").ptx
    [ -e "$out" ] && continue
    nvcc -ptx -arch="compute_$arch" -std=c++17 --expt-relaxed-constexpr -w \
      -I"$headers/cutlass_library/source/include" -I"$headers/cutlass_library/source/tools/util/include" \
      -I"$examples/common" -I"$(dirname "$source")" -I"$headers/nvidia/cu13/include" -I"$CUDA_HOME/include/cccl" \
      -o "$out.new" "$source" && mv "$out.new" "$out" || echo "compile.sh: nvcc did not compile $source" >&2
  done
done
