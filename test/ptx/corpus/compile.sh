#!/bin/sh
# Makes ptx/sm_80 and ptx/sm_90 from the .cu files beside it: machines that run the tests need no nvcc.
# A line "// nvcc: FLAGS" at the top of a file adds flags; "// arch: 90a" compiles it for sm_90a alone, into ptx/sm_90.
# Usage: compile.sh [FILE.cu...]
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- *.cu
for arch in 80 90; do
  mkdir -p "ptx/sm_$arch"
  for source in "$@"; do
    flags=$(sed -n 's|^// nvcc: ||p' "$source" | head -1)
    only=$(sed -n 's|^// arch: ||p' "$source" | head -1)
    case "$only" in '' | "$arch"*) ;; *) continue ;; esac
    # shellcheck disable=SC2086
    nvcc -ptx -arch="compute_${only:-$arch}" -std=c++17 -Wno-deprecated-gpu-targets $flags \
      -o "ptx/sm_$arch/${source%.cu}.ptx" "$source"
  done
done
